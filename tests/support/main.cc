#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <ostream>
#include <string>

namespace {

/// Prints, for each test case that has failed, the command that runs it alone.
class HowToRunItAlone : public doctest::IReporter {
 public:
  explicit HowToRunItAlone(const doctest::ContextOptions& options) : out_(*options.cout) {}

  void test_case_start(const doctest::TestCaseData& test_case) override {
    name_ = test_case.m_name;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (stats.testCaseSuccess) return;
    std::string pattern;
    for (const char c : name_)
      pattern += c == ',' || c == '\'' ? '?' : c;  // doctest splits at commas
    out_ << "run it alone: " << std::filesystem::read_symlink("/proc/self/exe").string()
         << " --test-case='" << pattern << "'\n";
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::ostream& out_;
  std::string name_;
};

}  // namespace

REGISTER_LISTENER("alone", 1, HowToRunItAlone);

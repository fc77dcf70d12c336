#include "labels/label_pattern.h"

#include <array>

#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace packhorse {

namespace {

constexpr std::size_t kLongest = 1000;
constexpr std::uint32_t kMostSteps = 200'000, kDeepest = 2'000, kHeapKiB = 4096;
constexpr const char* kExample =
    "put what is the class into parentheses, e.g. `label_pattern=^(.+)_[0-9]+\\.jpg$`";

template <auto Free>
struct With {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

[[noreturn]] void refuse_pattern(const std::string& what) {
  throw Error(ErrorKind::kUsage, "`label_pattern=`: " + what, {}, kExample);
}

PCRE2_SPTR pcre_text(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct LabelPattern::Compiled {
  std::unique_ptr<pcre2_code, With<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_context, With<pcre2_match_context_free>> limits;
  std::unique_ptr<pcre2_match_data, With<pcre2_match_data_free>> match;
  std::uint32_t group = 1;
  bool whole_path = false;
};

LabelPattern::LabelPattern(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  if (pattern.size() > kLongest) refuse_pattern("it has more than 1,000 characters");
  int error = 0;
  PCRE2_SIZE at = 0;
  Compiled& it = *compiled_;
  it.code.reset(pcre2_compile(pcre_text(pattern), pattern.size(),
                              PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr));
  if (!it.code) refuse_pattern(message_of(error) + ", at character " + std::to_string(at + 1));
  std::uint32_t groups = 0;
  pcre2_pattern_info(it.code.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
  if (groups == 0) refuse_pattern("it has no group");
  const int named = pcre2_substring_number_from_name(it.code.get(), pcre_text("class"));
  if (named > 0) it.group = static_cast<std::uint32_t>(named);
  it.whole_path = pattern.find('/') != std::string::npos;
  it.limits.reset(pcre2_match_context_create(nullptr));
  it.match.reset(pcre2_match_data_create_from_pattern(it.code.get(), nullptr));
  if (!it.limits || !it.match) throw std::bad_alloc();
  pcre2_set_match_limit(it.limits.get(), kMostSteps);
  pcre2_set_depth_limit(it.limits.get(), kDeepest);
  pcre2_set_heap_limit(it.limits.get(), kHeapKiB);
}

LabelPattern::~LabelPattern() = default;

std::optional<std::string> LabelPattern::label(std::string_view path, Problem& problem) const {
  const Compiled& it = *compiled_;
  const std::string_view name = it.whole_path ? path : naming::last_name(path);
  const int found = pcre2_match(it.code.get(), pcre_text(name), name.size(), 0, 0, it.match.get(),
                                it.limits.get());
  if (found == PCRE2_ERROR_NOMATCH) {
    problem = {Reason::kNoLabel, "its name does not match --label-pattern"};
    return std::nullopt;
  }
  if (found < 0)
    refuse_pattern(message_of(found) + ", for '" + printable(path) +
                   "': a simpler pattern is needed");
  const PCRE2_SIZE* places = pcre2_get_ovector_pointer(it.match.get());
  const PCRE2_SIZE begin = places[std::size_t{2} * it.group],
                   end = places[std::size_t{2} * it.group + 1];
  if (found <= static_cast<int>(it.group) || begin == PCRE2_UNSET || begin >= end) {
    problem = {Reason::kNoLabel, "--label-pattern finds an empty class in its name"};
    return std::nullopt;
  }
  return std::string(name.substr(begin, end - begin));
}

}  // namespace packhorse

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>

#include "base/printable.h"
#include "commands.h"
#include "common/checks.h"
#include "common/terminal.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"
#include "packhorse/storage/remote.h"
#include "storage/cache/run_cache.h"

namespace packhorse {

namespace fs = std::filesystem;
using program::bytes_text;
using program::count_text;
using program::Json;

namespace {

std::uint64_t stored_in(const std::vector<CacheEntry>& entries) {
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) bytes += entry.stored;
  return bytes;
}

std::size_t leased_in(const std::vector<CacheEntry>& entries) {
  return static_cast<std::size_t>(std::ranges::count_if(entries, &CacheEntry::leased));
}

bool is_whole(const CacheEntry& entry) { return entry.stored == entry.bytes; }

/// "2026-11-25 14:05:09", in UTC.
std::string time_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0)
    return "?";
  return text.data();
}

std::string share_text(const CacheEntry& entry) {
  if (is_whole(entry)) return "whole";
  // Never 100 % of what is not whole.
  return fmt::format("{} %", static_cast<int>(100.0 * static_cast<double>(entry.stored) /
                                              static_cast<double>(entry.bytes)));
}

class CommandCache final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("action", action_, "What to do")
        ->required()
        ->check(program::one_of({"list", "verify", "clear"}));
    app.add_option("--cache", directory_,
                   "Directory of the cache, if not $XDG_CACHE_HOME/packhorse or ~/.cache/packhorse")
        ->type_name("DIR");
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Looks after the cache, in which the processes of a machine keep what they have read of "
        "remote datasets.\n"
        "list shows its files and when they were opened last; verify compares those that are there "
        "completely with\n"
        "their SHA-256, and forgets what is damaged, so that it is fetched again (exit code 3); "
        "clear removes what\n"
        "no process has open.\n\n"
        "Examples:\n"
        "  packhorse cache list\n"
        "  packhorse cache clear --cache /scratch/packhorse");
  }

  int run() override {
    RunCache cache(chosen_directory());
    if (action_ == "verify") return verify(cache);
    if (action_ == "clear") {
      clear(cache);
    } else {
      list(cache);
    }
    return program::kDone;
  }

 private:
  fs::path chosen_directory() const {
    fs::path directory = directory_.empty() ? default_cache_directory() : fs::path(directory_);
    if (!directory.empty()) return directory;
    throw Error(ErrorKind::kUsage, "neither XDG_CACHE_HOME nor HOME says where the cache is", {},
                "give its directory: --cache DIR");
  }

  void print(const RunCache& cache, Json json, const std::string& text) const {
    if (!json_) {
      fmt::print("{}", text);
      return;
    }
    Json all = {{"cache", cache.directory().string()}};
    all.update(json);
    fmt::print("{}", json_text(all));
  }

  void list(const RunCache& cache) const {
    const std::vector<CacheEntry> entries = cache.entries();
    std::vector<std::vector<std::string>> rows = {
        {"SHA-256", "size", "stored", "share", "opened last (UTC)", ""}};
    Json files = Json::array();
    for (const CacheEntry& entry : entries) {
      rows.push_back({entry.sha256, bytes_text(entry.bytes), bytes_text(entry.stored),
                      share_text(entry), time_text(entry.used), entry.leased ? "in use" : ""});
      files.push_back({{"sha256", entry.sha256},
                       {"bytes", entry.bytes},
                       {"stored", entry.stored},
                       {"in_use", entry.leased},
                       {"used", entry.used}});
    }
    const std::string summary =
        fmt::format("{}: {}, {} of at most {}, {} in use\n", printable(cache.directory().native()),
                    count_text(entries.size(), "file"), bytes_text(stored_in(entries)),
                    bytes_text(cache.most()), program::with_commas(leased_in(entries)));
    print(cache, {{"most", cache.most()}, {"stored", stored_in(entries)}, {"files", files}},
          entries.empty() ? summary : program::table_text(rows) + summary);
  }

  int verify(RunCache& cache) const {
    const std::vector<CacheEntry> entries = cache.entries();
    const auto whole = static_cast<std::size_t>(std::ranges::count_if(entries, is_whole));
    const std::vector<std::string> damaged = cache.verify();
    std::string text;
    for (const std::string& sha256 : damaged)
      text += fmt::format("damaged, and forgotten: {}\n", sha256);
    text += fmt::format("{}{} compared with {} SHA-256, {} damaged; {} not there completely\n",
                        damaged.empty() ? "ok: " : "", count_text(whole, "file"),
                        whole == 1 ? "its" : "their", program::with_commas(damaged.size()),
                        program::with_commas(entries.size() - whole));
    print(cache,
          {{"ok", damaged.empty()},
           {"compared", whole},
           {"incomplete", entries.size() - whole},
           {"damaged", damaged}},
          text);
    return damaged.empty() ? program::kDone : program::kDamage;
  }

  void clear(RunCache& cache) const {
    const std::size_t before = cache.entries().size();
    const std::uint64_t freed = cache.clear();
    const std::vector<CacheEntry> left = cache.entries();
    const std::size_t removed = before - std::min(before, left.size());
    std::string text = fmt::format("{} removed, {} are free now\n", count_text(removed, "file"),
                                   bytes_text(freed));
    if (!left.empty())
      text += fmt::format("{} in use and stayed, with {}\n",
                          left.size() == 1 ? "1 file is" : count_text(left.size(), "file") + " are",
                          bytes_text(stored_in(left)));
    print(cache, {{"removed", removed}, {"freed", freed}, {"in_use", left.size()}}, text);
  }

  std::string action_, directory_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_cache_command() { return std::make_unique<CommandCache>(); }

}  // namespace packhorse

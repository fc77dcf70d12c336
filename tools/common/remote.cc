#include "common/remote.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "common/options.h"
#include "common/program.h"
#include "packhorse/base/error.h"
#include "storage/dataset/remote_table.h"

namespace packhorse::program {

namespace {

/// A counter behind "packhorse_remote_".
struct RemoteMetric {
  const char* name;
  const char* help;
  double (*value)(const RemoteCounters&);
};

constexpr double as_count(std::uint64_t value) { return static_cast<double>(value); }
constexpr double as_seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

using Counters = RemoteCounters;

constexpr auto kRemoteMetrics = std::to_array<RemoteMetric>({
    {"requests_total", "Requests sent, repeated ones included.",
     [](const Counters& c) { return as_count(c.storage.requests); }},
    {"retries_total", "Requests sent again after an answer that could not be used.",
     [](const Counters& c) { return as_count(c.storage.retries); }},
    {"failed_requests_total", "Requests given up.",
     [](const Counters& c) { return as_count(c.storage.failed); }},
    {"received_bytes_total", "Bytes of answers, of failed requests, too.",
     [](const Counters& c) { return as_count(c.storage.bytes); }},
    {"request_seconds_total", "Time from sending to the last byte, of all requests together.",
     [](const Counters& c) { return as_seconds(c.storage.wait_ns); }},
    {"fetched_runs_total", "Runs of data files fetched.",
     [](const Counters& c) { return as_count(c.runs_fetched); }},
    {"cached_runs_total", "Runs that the cache had already when their file was opened.",
     [](const Counters& c) { return as_count(c.runs_found); }},
    {"damaged_pieces_total", "Pieces that were not the right bytes, and were fetched again.",
     [](const Counters& c) { return as_count(c.damaged); }},
    {"waits_total", "Times that a thread needed bytes that were not there.",
     [](const Counters& c) { return as_count(c.waits); }},
    {"wait_seconds_total", "Time that threads wait for bytes of remote datasets.",
     [](const Counters& c) { return as_seconds(c.wait_ns); }},
});

}  // namespace

std::vector<reader::MetricFamily> remote_metrics() {
  const RemoteCounters counters = remote_counters();
  std::vector<reader::MetricFamily> families;
  for (const RemoteMetric& metric : kRemoteMetrics) {
    const std::string name = std::string("packhorse_remote_") + metric.name;
    families.push_back({name, "counter", metric.help, {{name, {}, metric.value(counters)}}});
  }
  return families;
}

void RemoteArguments::setup(CLI::App& app, Cache cache) {
  no_cache_ = cache == Cache::kNever;
  for (const RemoteOption& row : remote_options()) {
    const bool of_cache = row.name.starts_with("cache");
    if (row.name == "memory" || (of_cache && no_cache_)) continue;
    CLI::Option* option = declare_option(app, row, row.text({}), kRemoteGroup);
    if (row.name == "url_command") option->delimiter(' ');
    declared_.emplace_back(&row, option);
  }
  if (no_cache_) return;
  no_cache_option_ = app.add_flag("--no-cache", no_cache_, "Keep what was fetched in memory alone")
                         ->group(kRemoteGroup);
}

bool RemoteArguments::enable(const std::vector<std::string>& paths, bool anyway) const {
  const bool any = std::ranges::any_of(paths, is_url);
  const auto refuse = [](const CLI::Option* option) {
    if (option == nullptr || option->count() == 0) return;
    throw Error(ErrorKind::kUsage, option->get_name() + " has no effect: nothing lies at a URL", {},
                "leave it out");
  };
  if (!any && !anyway) {
    for (const auto& [row, option] : declared_) refuse(option);
    refuse(no_cache_option_);
    return false;
  }
  RemoteOptions options;
  options.cache = default_cache_directory();
  for (const auto& [row, option] : declared_)
    if (option->count() > 0) row->set(options, option->results());
  if (no_cache_) options.cache.clear();
  enable_remote(options);
  return any;
}

}  // namespace packhorse::program

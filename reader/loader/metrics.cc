#include "packhorse/reader/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// One line of a loader. Lines of one family, such as the quantiles of a summary, stand together.
struct Metric {
  std::string_view family;  ///< behind "packhorse_loader_"
  std::string_view type;
  std::string_view help;
  double (*value)(const LoaderCounters&);
  std::string_view quantile = {};  ///< the label of a summary's quantile
  std::string_view suffix = {};    ///< for a summary's other lines
};

constexpr double as_count(std::uint64_t value) { return static_cast<double>(value); }
constexpr double as_seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

using Counters = LoaderCounters;

/// The whole definition of each metric: a new counter is a line here.
constexpr auto kMetrics = std::to_array<Metric>({
    {"samples_total", "counter", "Samples made, of all batches begun.",
     [](const Counters& c) { return as_count(c.samples); }},
    {"batches_total", "counter", "Batches handed out.",
     [](const Counters& c) { return as_count(c.batches); }},
    {"read_bytes_total", "counter", "Stored bytes of the images read.",
     [](const Counters& c) { return as_count(c.bytes); }},
    {"read_seconds_total", "counter", "Time of the workers in reading, hash check included.",
     [](const Counters& c) { return as_seconds(c.read_ns); }},
    {"decode_seconds_total", "counter", "Time of the workers in decoding and augmenting.",
     [](const Counters& c) { return as_seconds(c.decode_ns); }},
    {"slot_wait_seconds_total", "counter", "Time of the workers waiting for the consumer.",
     [](const Counters& c) { return as_seconds(c.slot_wait_ns); }},
    {"consumer_wait_seconds_total", "counter", "Time of the consumer waiting for a batch.",
     [](const Counters& c) { return as_seconds(c.consumer_wait_ns); }},
    {"ready_batches_total", "counter",
     "Batches that were ready at each request, summed: over batches_total, the mean queue depth.",
     [](const Counters& c) { return as_count(c.ready_batches_sum); }},
    {"bad_samples_total", "counter", "Damaged samples that were replaced or left out.",
     [](const Counters& c) { return as_count(c.bad_samples); }},
    {"prefetched_bytes_total", "counter", "Stored bytes the storage was asked for ahead.",
     [](const Counters& c) { return as_count(c.prefetched_bytes); }},
    {"batch_wait_seconds", "summary", "The consumer waiting for a batch.",
     [](const Counters& c) { return as_seconds(c.batch_wait.p50_ns); }, "0.5"},
    {"batch_wait_seconds", "summary", "The consumer waiting for a batch.",
     [](const Counters& c) { return as_seconds(c.batch_wait.p99_ns); }, "0.99"},
    {"batch_wait_seconds", "summary", "The consumer waiting for a batch.",
     [](const Counters& c) { return as_seconds(c.batch_wait.sum_ns); }, "", "_sum"},
    {"batch_wait_seconds", "summary", "The consumer waiting for a batch.",
     [](const Counters& c) { return as_count(c.batch_wait.count); }, "", "_count"},
    {"batch_make_seconds", "summary", "A batch from its first sample begun to its last complete.",
     [](const Counters& c) { return as_seconds(c.batch_make.p50_ns); }, "0.5"},
    {"batch_make_seconds", "summary", "A batch from its first sample begun to its last complete.",
     [](const Counters& c) { return as_seconds(c.batch_make.p99_ns); }, "0.99"},
    {"batch_make_seconds", "summary", "A batch from its first sample begun to its last complete.",
     [](const Counters& c) { return as_seconds(c.batch_make.sum_ns); }, "", "_sum"},
    {"batch_make_seconds", "summary", "A batch from its first sample begun to its last complete.",
     [](const Counters& c) { return as_count(c.batch_make.count); }, "", "_count"},
});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void check_name(const std::string& name) {
  const auto in_name = [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  if (!name.empty() && is_letter(name.front()) && std::ranges::all_of(name, in_name)) return;
  throw Error(ErrorKind::kUsage, "'" + name + "' is not a valid name for a metric label", {},
              "use letters, digits and _, not beginning with a digit");
}

/// Escapes a label's value as the text format demands, so that a reader gets back the exact value.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text;
}

std::string labels_text(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    check_name(name);
    text += (text.empty() ? "" : ",") + name + "=\"" + escaped(value) + "\"";
  }
  return text.empty() ? text : "{" + text + "}";
}

/// The shortest text that reads back as the same number, in any locale.
std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::vector<MetricFamily> loader_metrics(std::span<const LoaderMetrics> loaders) {
  std::vector<MetricFamily> families;
  for (const Metric& metric : kMetrics) {
    const std::string name = "packhorse_loader_" + std::string(metric.family);
    if (families.empty() || families.back().name != name) {
      families.push_back({name, std::string(metric.type), std::string(metric.help), {}});
    }
    for (const LoaderMetrics& loader : loaders) {
      MetricLabels labels = loader.labels;
      if (!metric.quantile.empty()) labels.emplace_back("quantile", metric.quantile);
      families.back().samples.push_back(
          {name + std::string(metric.suffix), std::move(labels), metric.value(loader.counters)});
    }
  }
  return families;
}

std::string prometheus_text(std::span<const MetricFamily> families) {
  std::string text;
  for (const MetricFamily& family : families) {
    text += "# HELP " + family.name + " " + family.help + "\n";
    text += "# TYPE " + family.name + " " + family.type + "\n";
    for (const MetricSample& sample : family.samples) {
      text += sample.name + labels_text(sample.labels) + " " + number_text(sample.value) + "\n";
    }
  }
  return text;
}

std::string prometheus_text(const LoaderCounters& counters, const MetricLabels& labels) {
  const LoaderMetrics one{labels, counters};
  return prometheus_text(loader_metrics(std::span(&one, 1)));
}

}  // namespace packhorse::reader

#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/reader/loader.h"

/// A loader's counters for Prometheus.
namespace packhorse::reader {

/// Names are [a-zA-Z_][a-zA-Z0-9_]*, values any UTF-8.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// One loader among those exposed together; its labels tell it from the others.
struct LoaderMetrics {
  MetricLabels labels;
  LoaderCounters counters;
};

/// One number. `name` is the family's name; in a summary it may end in _sum or _count.
struct MetricSample {
  std::string name;
  MetricLabels labels;
  double value = 0;
};

/// The samples that Prometheus groups under one name.
struct MetricFamily {
  std::string name, type, help;  ///< type: counter, gauge or summary
  std::vector<MetricSample> samples;
};

/// The counters as data; a summary's quantiles are labelled "quantile". Several loaders share their
/// families.
std::vector<MetricFamily> loader_metrics(std::span<const LoaderMetrics> loaders);

/// Families in Prometheus' text format (version 0.0.4), for a scrape or for node_exporter's
/// textfile collector:
///
///     # HELP packhorse_loader_samples_total Samples made, of all batches begun.
///     # TYPE packhorse_loader_samples_total counter
///     packhorse_loader_samples_total{rank="0"} 1281167
///
/// Times are in seconds, summed over threads. Throws Error(kUsage) for an invalid label name.
std::string prometheus_text(std::span<const MetricFamily> families);
/// Those of a loader.
std::string prometheus_text(const LoaderCounters& counters, const MetricLabels& labels = {});

}  // namespace packhorse::reader

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/reader/measure.h"
#include "packhorse/reader/simulated_storage.h"

/// The parts of `packhorse bench`, which command_bench.cc puts together: what is asked, the runs
/// that answer it, and how these are shown.
namespace packhorse::bench {

/// What is measured, as typed.
struct Request {
  std::vector<std::string> inputs;
  std::vector<std::string> works = {"decode"};
  std::vector<std::string> storages;  ///< to simulate
  std::vector<int> workers;           ///< empty: as many as this process may use
  std::string order = "global", split, metrics, max_bad = "0";
  std::int64_t batch_size = 64;
  std::uint64_t max_images = 0;
  double min_seconds = 0.5;
  int repeats = 3, size = 224;
  ImageLimits limits = {};
  bool cold = false, warm = false, sweep = false, huge_pages = false, json = false;
};

/// Work, and where the bytes come from: what a table is of.
struct Section {
  reader::Work work = reader::Work::kDecode;
  reader::CacheState cache = reader::CacheState::kWarm;
  std::optional<reader::StorageModel> storage = {};  ///< simulated on top of a warm cache
};

const char* name_of(reader::Work work);
/// "warm", "cold" or "simulated nfs".
std::string place_of(const Section& section);

/// Names of the orders there are, and what each is.
std::vector<std::string> order_names();
std::string orders_text();

/// Each work: cold, warm, then simulated storage as asked; warm if nothing is. Throws
/// Error(kUsage).
std::vector<Section> sections_of(const Request& request);
/// The numbers of workers to try, each once, as asked; a sweep goes on to twice the CPUs, as reads
/// from a disk do.
std::vector<int> workers_of(const Request& request);
/// How pass `repeat` of a run is measured; each repeat has another seed.
reader::MeasureOptions options_of(const Request& request, const Section& section, int workers,
                                  int repeat);

}  // namespace packhorse::bench

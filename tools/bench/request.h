#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/reader/measure.h"

/// The parts of `packhorse bench`, which command_bench.cc puts together: what is asked, the runs
/// that answer it, and how these are shown.
namespace packhorse::bench {

/// What is measured, as typed.
struct Request {
  std::vector<std::string> inputs;
  std::vector<std::string> works = {"decode"};
  std::vector<int> workers;  ///< empty: as many as this process may use
  std::string order = "global", split, metrics, max_bad = "0";
  std::int64_t batch_size = 64;
  std::uint64_t max_images = 0;
  double min_seconds = 0.5;
  int repeats = 3, size = 224;
  bool cold = false, warm = false, sweep = false, huge_pages = false, json = false;
};

/// Work and cache: what a table is of.
struct Section {
  reader::Work work = reader::Work::kDecode;
  reader::CacheState cache = reader::CacheState::kWarm;
};

const char* name_of(reader::Work work);
const char* name_of(reader::CacheState cache);

/// Names of the orders there are, and what each is.
std::vector<std::string> order_names();
std::string orders_text();

/// Each work, cold before warm.
std::vector<Section> sections_of(const Request& request);
/// The numbers of workers to try, each once, as asked; a sweep goes on to twice the CPUs, as reads
/// from a disk do.
std::vector<int> workers_of(const Request& request);
/// How pass `repeat` of a run is measured; each repeat has another seed.
reader::MeasureOptions options_of(const Request& request, const Section& section, int workers,
                                  int repeat);

}  // namespace packhorse::bench

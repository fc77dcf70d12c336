#include "bench/request.h"

#include <algorithm>

#include "base/resources.h"

namespace packhorse::bench {

using reader::CacheState;
using reader::Work;

const char* name_of(Work work) { return work == Work::kRead ? "read" : "decode"; }

std::string place_of(const Section& section) {
  if (section.storage) return "simulated " + section.storage->name;
  if (section.cache == CacheState::kAsIs) return "from a URL";
  return section.cache == CacheState::kCold ? "cold" : "warm";
}

std::vector<Section> sections_of(const Request& request) {
  std::vector<Section> sections;
  for (const Work work : {Work::kRead, Work::kDecode}) {
    if (std::ranges::find(request.works, name_of(work)) == request.works.end()) continue;
    if (request.cold) sections.push_back({work, CacheState::kCold});
    const bool unsaid = !request.warm && !request.cold && request.storages.empty();
    if (request.warm || (unsaid && !request.from_afar))
      sections.push_back({work, CacheState::kWarm});
    if (unsaid && request.from_afar) sections.push_back({work, CacheState::kAsIs});
    for (const std::string& storage : request.storages)
      sections.push_back({work, CacheState::kWarm, reader::parse_storage(storage)});
  }
  return sections;
}

std::vector<int> workers_of(const Request& request) {
  const int cpus = available_cpus();
  if (!request.sweep && request.workers.empty()) return {cpus};
  std::vector<int> wanted = request.workers;
  if (request.sweep) {
    for (int workers = 1; workers < cpus; workers *= 2) wanted.push_back(workers);
    wanted.insert(wanted.end(), {cpus, 2 * cpus});
  }
  std::vector<int> once;
  for (const int workers : wanted)
    if (std::ranges::find(once, workers) == once.end()) once.push_back(workers);
  return once;
}

reader::MeasureOptions options_of(const Request& request, const Section& section,
                                  reader::OrderKind order, int workers, int repeat) {
  const bool cold = section.cache == CacheState::kCold;
  reader::MeasureOptions options;
  options.work = section.work;
  // A warm cache stays warm; the first pass over each input makes sure.
  options.cache = cold || repeat == 0 ? section.cache : CacheState::kAsIs;
  options.max_samples = request.max_images;
  // One epoch only: a second would find in memory what the first one read.
  options.min_seconds = cold || section.storage ? 0 : request.min_seconds;
  options.loader = request.loader;
  options.loader.workers = workers;
  options.loader.seed = static_cast<std::uint64_t>(repeat);
  choose_augment(request.augment, size_of(request.augment, request.size), options.loader);
  if (!request.pixel_steps.empty()) {
    options.loader.pixels = request.pixel_steps;
    for (reader::View& view : options.loader.more_views) view.pixels = request.pixel_steps;
  }
  if (request.targets) options.loader.targets.emplace();
  options.loader.limits = request.limits;
  options.loader.tail = reader::Tail::kKeep;
  options.loader.order = reader::order_in(order, static_cast<std::uint64_t>(repeat));
  return options;
}

}  // namespace packhorse::bench

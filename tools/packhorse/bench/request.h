#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/simulated_storage.h"
#include "measure/measurement.h"
#include "packhorse/reader/loader.h"

/// The parts of `packhorse bench`, put together by command_bench.cc: the request, the runs that
/// answer it, and their presentation.
namespace packhorse::bench {

/// What is measured, as typed.
struct Request {
  std::vector<std::string> inputs;
  std::vector<std::string> works = {"decode"};
  std::vector<std::string> storages;  ///< to simulate
  std::vector<int> workers;           ///< empty: as many as this process may use
  reader::LoaderOptions loader = {};  ///< those of its table
  bool usual_order = true;            ///< of each input, not the loader's
  std::string split, metrics;
  std::string augment = "crop";         ///< one of augment_names()
  reader::PixelSteps pixel_steps = {};  ///< instead of the augmentation's own, unless empty
  std::string size;                     ///< of the output; empty: the augmentation's usual one
  std::uint64_t max_images = 0;
  double min_seconds = 0.5;
  int repeats = 3;
  ImageLimits limits = {};
  bool cold = false, warm = false, sweep = false, json = false, quiet = false;
  bool targets = false;  ///< read objects, too
  /// Whether an input lies at a URL: its first pass fetches it, unless it is to be warm.
  bool from_afar = false;
};

/// The work, and where the bytes come from; each section has a table of its own.
struct Section {
  reader::Work work = reader::Work::kDecode;
  reader::CacheState cache = reader::CacheState::kWarm;
  std::optional<reader::StorageModel> storage = {};  ///< simulated on top of a warm cache
};

const char* name_of(reader::Work work);
/// "warm", "cold", "from a URL" or "simulated nfs".
std::string place_of(const Section& section);

/// For each work: cold, warm, then simulated storage, as asked; if nothing is asked, warm or, where
/// an input lies at a URL, as it is. Throws
/// Error(kUsage).
std::vector<Section> sections_of(const Request& request);
/// The numbers of workers to try as asked, each once; a sweep goes up to twice the CPUs, because
/// reads from a disk scale that far.
std::vector<int> workers_of(const Request& request);
/// How pass `repeat` of a run is measured; each repeat has another seed.
reader::MeasureOptions options_of(const Request& request, const Section& section,
                                  reader::OrderKind order, int workers, int repeat);

/// The names; augments_text() also says what each of them is.
std::vector<std::string> augment_names();
std::string augments_text();

/// "640" or "480x640", height first, as typed; empty: the augmentation's usual size. Throws
/// Error(kUsage) for anything else.
reader::ImageSize size_of(const std::string& augment, const std::string& text);

/// Sets what `augment`, one of the names, does to the samples.
void choose_augment(const std::string& augment, reader::ImageSize size,
                    reader::LoaderOptions& options);

}  // namespace packhorse::bench

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "packhorse/reader/loader.h"

namespace packhorse::trainer {

/// Facts about a stretch of training, such as an epoch, in which it waited for data.
struct LoadFacts {
  double seconds = 0;                    ///< of training
  double data_wait_share = 0;            ///< of `seconds`, 0..1
  reader::LoaderCounters counters = {};  ///< of the stretch alone
  int workers = 0;                       ///< reader threads; 0: the training thread reads
  int cpus = 1;                          ///< this process may use
  bool one_file_a_sample = false;        ///< as Dataset says it
  std::string image_mode{};              ///< original, roi, resize, raw
  bool from_afar = false;                ///< the dataset is at a URL
  bool gpu_decode_offered = false;       ///< the GPU could decode, and does not
};

/// The change that would help most.
enum class Remedy {
  kWorkers,        ///< more reader threads
  kPack,           ///< shards instead of single files
  kFewerBytes,     ///< raw pixels are more than the storage gives
  kStorage,        ///< storage that answers faster, or is asked for longer pieces
  kSmallerImages,  ///< packed so that a crop costs less to decode
  kGpuDecode,
  kCpus,          ///< more processors, or less to do for each image
  kLongerEpochs,  ///< the wait is for the first batches of each
};

struct Advice {
  Remedy remedy;
  std::string sentence;  ///< the observation and what to do
};

/// A share up to this needs no advice.
inline constexpr double kFineWaitShare = 0.05;

/// Returns nothing when the wait was within kFineWaitShare, or nothing was read.
std::optional<Advice> advise(const LoadFacts& facts);

/// The counts between two readings of a loader's counters; latencies are those of `after`.
reader::LoaderCounters counters_between(const reader::LoaderCounters& before,
                                        const reader::LoaderCounters& after);

}  // namespace packhorse::trainer

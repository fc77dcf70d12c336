#pragma once

#include <cstdint>

#include "loader/ring.h"
#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// Mixes whole batches, as LoaderOptions::mix says. Any thread, one at a time per slot.
class BatchMixer {
 public:
  /// Throws Error(kUsage) for a dataset without classes. `options` outlive the mixer.
  BatchMixer(const LoaderOptions& options, std::size_t classes, std::size_t channels);

  /// Mixes the first `size` places of a slot that is complete. `position`: of the batch in the
  /// epoch. Throws Error(kCorrupt) for a label outside the classes.
  void mix(Ring::Slot& slot, std::int64_t size, std::uint64_t epoch, std::uint64_t position) const;

 private:
  const LoaderOptions& options_;
  const std::size_t classes_, channels_;
};

}  // namespace packhorse::reader

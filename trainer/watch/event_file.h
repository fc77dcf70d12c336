#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"

namespace packhorse::trainer {

/// Writes scalars for TensorBoard: one event file per run, or per part of a run, in a directory for
/// `tensorboard --logdir`.
///
///     EventFile events("run/tensorboard");
///     events.scalar("train/loss", step, loss);
///     events.flush();                            // now TensorBoard can see it
///
/// A file is records, each an Event of TensorFlow's event.proto:
///
///     | length u64 | masked CRC-32C of it u32 | Event, `length` bytes | masked CRC-32C of it u32 |
///
/// Sources: tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto. One
/// thread.
class EventFile {
 public:
  /// Makes a new file, named so that it sorts after the existing ones. TensorBoard then ignores
  /// steps from `first_step` on in the existing files: 0 for a new run, otherwise the step it
  /// continues with. Throws Error(kIo | kNoSpace).
  explicit EventFile(const std::filesystem::path& directory, std::int64_t first_step = 0);

  /// Kept in memory until the next flush().
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// Throws Error(kIo | kNoSpace) when anything could not be written.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void event(std::int64_t step, std::string_view what);

  std::filesystem::path path_;
  UniqueFd file_;
  std::string waiting_;  ///< records since the last flush()
};

/// CRC-32C (Castagnoli), as in RFC 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace packhorse::trainer

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/stop.h"
#include "packhorse/base/bytes.h"

namespace packhorse {

/// What a user named for output, and never replaces but a regular file:
///
///     nothing, a regular file     written as AtomicFile writes: complete, or as it was before
///     a link to one of these      stays; the file that it names is written so
///     a device, a FIFO            written into, from the first byte on
///     /dev/stdout, /dev/fd/3      the file that this process has open there, written into
///     a directory, a socket       Error(kUsage)
///
/// One thread.
class OutputFile {
 public:
  /// Opens it. A FIFO without a reader is waited for until `stop`. Throws Error(kUsage | kIo |
  /// kNotFound | kNoSpace | kInterrupted).
  explicit OutputFile(const std::filesystem::path& path,
                      const std::stop_token& stop = current_stop());

  /// Appends, buffered. Throws Error(kIo | kNoSpace), and std::system_error(EPIPE) when nobody
  /// reads standard output any more, as printing does.
  void write(Bytes bytes);
  /// The last call.
  void commit();

  bool is_standard_output() const { return standard_output_; }

 private:
  void flush_stream();

  std::filesystem::path path_;
  std::optional<AtomicFile> file_;
  UniqueFd stream_;  ///< of what is written into; closed: none
  std::vector<std::byte> buffer_;
  bool standard_output_ = false;
};

/// Writes a small file as OutputFile does. Returns whether that was standard output, where nothing
/// else belongs then.
bool write_output(const std::filesystem::path& path, Bytes bytes,
                  const std::stop_token& stop = current_stop());

/// Whether nobody can read any more what is written to this pipe, FIFO or socket.
bool reader_is_gone(int fd);

/// Throws what OutputFile would: for a directory, a socket, a URL, a folder that does not exist or
/// may not be written to. Call it before long work: it creates nothing, and opens no device and no
/// FIFO.
void check_output(const std::filesystem::path& path);

enum class OutputContent : std::uint8_t { kText, kBytes };

/// Throws Error(kUsage) if writing to `output` would replace a regular file that is one of `inputs`
/// (by any name) or is in a folder among them, and if a text would replace a file that is not text.
/// A new file replaces nothing. An input may be a pattern of files, which counts as their folder.
void refuse_replacing(const std::filesystem::path& output,
                      const std::vector<std::filesystem::path>& inputs,
                      OutputContent content = OutputContent::kText);

/// Whether an output is a device, a FIFO or an open file of this process, whose name says nothing
/// about its format.
bool is_stream(const std::filesystem::path& output);

}  // namespace packhorse

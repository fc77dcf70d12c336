#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "packhorse/base/bytes.h"

/// The two hashes of packhorse: SHA-256 names files (anyone can check it with `sha256sum`), XXH3-64
/// names single images (20 times faster, so it is checked on every read).
namespace packhorse {

/// Incremental SHA-256 (OpenSSL). One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(Bytes bytes);
  /// 64 lower-case hexadecimal digits. The object cannot be used afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(Bytes bytes);
/// Reads the whole file once, sequentially. Throws Error(kNotFound | kIo).
std::string sha256_file(const std::filesystem::path& path);
/// The same for an open file, from its start, whatever the file's position.
std::string sha256_file(int fd, const std::filesystem::path& path);

/// XXH3, 64 bits, seed 0.
std::uint64_t xxh3(Bytes bytes);

}  // namespace packhorse

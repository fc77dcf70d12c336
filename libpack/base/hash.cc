#include "base/hash.h"

#include <fcntl.h>
// OpenSSL deprecates SHA256_Update() and its like in favour of EVP. EVP picks one of several
// implementations: it reads the system's openssl.cnf, allocates memory for every hash, and crashes
// when the first use of OpenSSL cannot allocate. The hashing code is the same.
#define OPENSSL_API_COMPAT 0x10100000L
#include <openssl/sha.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "base/stop.h"
#include "base/xxh3.h"
#include "packhorse/base/error.h"

namespace packhorse {

struct Sha256::State {
  SHA256_CTX context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(Bytes bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::finish() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Final(digest.data(), &state_->context);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256(Bytes bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string sha256_file(const std::filesystem::path& path) {
  return sha256_file(open_for_reading(path).get(), path);
}

std::string sha256_file(int fd, const std::filesystem::path& path) {
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> buffer(1u << 20);
  Sha256 hash;
  for (off_t at = 0;;) {
    const ssize_t n = uninterrupted([&] { return ::pread(fd, buffer.data(), buffer.size(), at); });
    obey_stop();
    if (n < 0) throw_errno("read", path);
    if (n == 0) return hash.finish();
    hash.update(Bytes(buffer).first(static_cast<std::size_t>(n)));
    at += n;
  }
}

std::uint64_t xxh3(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace packhorse

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>

#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"

/// FNV-1a, 64 bits, of all bytes so far.
static void add(std::uint64_t& hash, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
}

/// Reads one epoch of the dataset argv[1] and prints the number of images and a hash of their
/// pixels and labels. The program is linked with packhorse::core and with packhorse::reader, which
/// must read the same.
int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  namespace reader = packhorse::reader;
  reader::LoaderOptions options;
  options.batch_size = 7;
  options.augment = reader::ResizeCenterCrop{};
  options.tail = reader::Tail::kKeep;
  reader::Loader loader(reader::Dataset::open(argv[1]), options);
  loader.start_epoch(0);
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::int64_t images = 0;
  while (const std::optional<reader::Batch> batch = loader.next()) {
    images += batch->size();
    add(hash, std::as_bytes(batch->images()));
    add(hash, std::as_bytes(batch->labels()));
  }
  std::printf("%lld images, %016llx\n", static_cast<long long>(images),
              static_cast<unsigned long long>(hash));
  return 0;
} catch (const std::exception& error) {
  const auto* ours = dynamic_cast<const packhorse::Error*>(&error);
  std::fprintf(stderr, "%s; %s\n", error.what(), ours == nullptr ? "" : ours->advice().c_str());
  return 1;
}

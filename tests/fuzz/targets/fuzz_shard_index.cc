// The index of a shard, with a matching checksum: only its content is checked then.
#include <cstring>

#include "base/hash.h"
#include "dataset/shard_index.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

// Offsets in the header; docs/formats/index.md draws it.
constexpr std::size_t kFileBytes = 32, kChecksum = 56, kHeader = 64;

std::vector<std::byte> with_checksum(Bytes input) {
  std::vector<std::byte> file(input.begin(), input.end());
  if (file.size() < kHeader) return file;
  const std::uint64_t size = file.size(), none = 0;
  std::memcpy(file.data() + kFileBytes, &size, sizeof size);
  std::memcpy(file.data() + kChecksum, &none, sizeof none);
  const std::uint64_t checksum = xxh3(file);
  std::memcpy(file.data() + kChecksum, &checksum, sizeof checksum);
  return file;
}

void promise_inside(ByteRange inner, ByteRange outer) {
  fuzz::promise(
      inner.offset >= outer.offset && inner.end() >= inner.offset && inner.end() <= outer.end(),
      "a range of the index lies where it should");
}

void look_at(const ShardIndex& index) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    fuzz::touch(index.key(i));
    fuzz::touch(index.path(i));
    const ImageInfo image = index.image(i);
    fuzz::touch(std::as_bytes(std::span(&image, 1)));
    const std::uint64_t numbers[] = {index.hash(i), static_cast<std::uint64_t>(index.label(i))};
    fuzz::touch(std::as_bytes(std::span(numbers)));
    ByteRange outer{0, index.data_bytes()};
    if (index.compressed()) {
      promise_inside(index.frame(i).stored, outer);
      outer = index.frame(i).content;
    }
    promise_inside(index.range(i), outer);
    for (std::size_t field = 0; field < index.fields().size(); ++field) {
      if (!index.has_field(i, field)) continue;
      promise_inside(index.field_range(i, field), outer);
      static_cast<void>(index.field_hash(i, field));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(with_checksum(input));
    look_at(ShardIndex(file.path()));
  });
}

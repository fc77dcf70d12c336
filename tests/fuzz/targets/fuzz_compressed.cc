// Compressed streams (gzip, zstd, xz), and zstd frames as shards hold them.
#include "base/zstd_frame.h"
#include "support/fuzz.h"
#include "support/memory_stream.h"

namespace {

using namespace packhorse;

void decompress_stream(Bytes input) {
  constexpr std::uint64_t kEnough = 1 << 20;  // bytes read of a bomb
  const auto stream =
      decompress(std::make_unique<fuzz::MemoryStream>(input, 1000), compression_of(input), "input");
  std::uint64_t seen = 0;
  for (Bytes some = stream->next(); !some.empty() && seen < kEnough; some = stream->next()) {
    fuzz::touch(some);
    seen += some.size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::attempt(data, size, decompress_stream);
  return fuzz::attempt(data, size, [](Bytes input) {
    if (compression_of(input) != Compression::kZstd) return;
    fuzz::Choices choices(input);
    std::vector<std::byte> content(choices.below(4096));
    decompress_frame(input, content);
    fuzz::touch(content);
  });
}

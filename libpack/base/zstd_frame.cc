#include "base/zstd_frame.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, FreeCompressor>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, FreeDecompressor>;

Decompressor make_decompressor() {
  Decompressor context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  return context;
}

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "damaged zstd frame: " + what);
}

std::size_t checked(std::size_t code) {
  if (ZSTD_isError(code) != 0) {
    throw Error(ErrorKind::kIo, std::string("zstd cannot compress: ") + ZSTD_getErrorName(code));
  }
  return code;
}

Compressor make_compressor() {
  Compressor context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  checked(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1));
  checked(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 1));
  return context;
}

void put_number(std::span<std::byte> out, std::size_t& at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out[at++] = static_cast<std::byte>(value & 0xff);
}

/// A frame of raw blocks. Source: RFC 8878, 3.1.1.
std::size_t store_frame(Bytes content, std::span<std::byte> stored) {
  constexpr std::size_t kBlock = 128u << 10;
  constexpr std::uint64_t kMagic = 0xfd2fb528;
  constexpr std::uint64_t kSizeAndChecksum = 3u << 6 | 1u << 2;  // a size of eight bytes
  constexpr std::uint64_t kWindowOfABlock = 7u << 3;
  std::size_t at = 0;
  put_number(stored, at, kMagic, 4);
  put_number(stored, at, kSizeAndChecksum, 1);
  put_number(stored, at, kWindowOfABlock, 1);
  put_number(stored, at, content.size(), 8);
  for (std::size_t begin = 0; begin < content.size(); begin += kBlock) {
    const Bytes block = content.subspan(begin, std::min(kBlock, content.size() - begin));
    const bool last = begin + block.size() == content.size();
    put_number(stored, at, block.size() << 3 | (last ? 1u : 0u), 3);
    std::copy(block.begin(), block.end(), stored.begin() + static_cast<std::ptrdiff_t>(at));
    at += block.size();
  }
  put_number(stored, at, XXH64(content.data(), content.size(), 0), 4);
  return at;
}

}  // namespace

bool frame_may_hold(std::uint64_t stored, std::uint64_t content) {
  constexpr std::uint64_t kAny = 64u << 20, kExpansion = 256;
  return content <= kAny || content / kExpansion <= stored;
}

void check_zstd_level(int level) {
  if (level >= kLowestZstdLevel && level <= kHighestZstdLevel) return;
  throw Error(ErrorKind::kUsage,
              "the zstd level must be from 1 to 19, not " + std::to_string(level), {},
              "3 is the usual level; images that are already compressed gain little from more");
}

std::size_t frame_bound(std::size_t content) { return ZSTD_compressBound(content); }

std::size_t compress_frame(int level, Bytes content, std::span<std::byte> stored) {
  thread_local const Compressor context = make_compressor();
  checked(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level));
  const std::size_t size = checked(
      ZSTD_compress2(context.get(), stored.data(), stored.size(), content.data(), content.size()));
  return frame_may_hold(size, content.size()) ? size : store_frame(content, stored);
}

void decompress_frame(Bytes stored, std::span<std::byte> content) {
  thread_local const Decompressor context = make_decompressor();
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    corrupt("it ends in the wrong place");
  }
  const std::size_t size = ZSTD_decompressDCtx(context.get(), content.data(), content.size(),
                                               stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) corrupt(ZSTD_getErrorName(size));
  if (size != content.size()) corrupt("its content is too short");
}

void decompress_frame(Bytes stored, std::uint64_t content_bytes, std::vector<std::byte>& content) {
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != content_bytes)
    corrupt("its size differs from the one in the index");
  if (!frame_may_hold(stored.size(), content_bytes))
    corrupt("it would expand to more than packhorse ever writes");
  content.resize(content_bytes);
  decompress_frame(stored, content);
}

}  // namespace packhorse

#include "zstd_frame.h"

#include <zstd.h>

#include <memory>
#include <new>
#include <string>

#include "packhorse/error.h"

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

}  // namespace

void check_zstd_level(int level) {
  if (level >= kLowestZstdLevel && level <= kHighestZstdLevel) return;
  throw Error(ErrorKind::kUsage,
              "the zstd level must be within 1 and 19, not " + std::to_string(level), {},
              "3 is the usual one; images that are compressed already hardly gain by more");
}

std::size_t frame_bound(std::size_t content) { return ZSTD_compressBound(content); }

std::size_t compress_frame(int level, Bytes content, std::span<std::byte> stored) {
  thread_local const Compressor context = make_compressor();
  checked(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level));
  return checked(
      ZSTD_compress2(context.get(), stored.data(), stored.size(), content.data(), content.size()));
}

void decompress_frame(Bytes stored, std::span<std::byte> content) {
  thread_local const Decompressor context = make_decompressor();
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    corrupt("it does not end where it should");
  }
  const std::size_t size = ZSTD_decompressDCtx(context.get(), content.data(), content.size(),
                                               stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) corrupt(ZSTD_getErrorName(size));
  if (size != content.size()) corrupt("its content is shorter than it should be");
}

std::size_t decompress_start(Bytes head, std::span<std::byte> out) {
  const Decompressor context = make_decompressor();
  ZSTD_inBuffer in{head.data(), head.size(), 0};
  ZSTD_outBuffer filled{out.data(), out.size(), 0};
  while (filled.pos < filled.size && in.pos < in.size) {
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &filled, &in)) != 0) break;
  }
  return filled.pos;
}

}  // namespace packhorse

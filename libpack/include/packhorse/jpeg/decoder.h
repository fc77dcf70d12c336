#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "packhorse/base/bytes.h"

/// A decoder for the JPEGs that photo datasets are made of, and for windows of them. Its pixels
/// equal those of libjpeg-turbo by default (accurate integer DCT, fancy upsampling), bit for bit.
/// It refuses other files with a reason; then ask libjpeg.
///
///     jpeg::Scratch scratch;  // one per thread, kept
///     const jpeg::Result result = jpeg::decode(file, window, {pixels, 3 * window.width}, scratch);
///     if (!result.done()) ...  // ask libjpeg; name_of(result.reason) says why
///
/// Takes 8-bit Huffman-coded pictures, baseline and extended ones of one scan and progressive ones
/// that are complete: grey, and YCbCr at 4:4:4, 4:2:2, 4:4:0 and 4:2:0, with and without restart
/// markers. docs/design.md has the whole list.
namespace packhorse::jpeg {

/// Why a picture was not decoded.
enum class Reason : std::uint8_t {
  kNone,         ///< it was decoded
  kDamaged,      ///< or unusual in a way that libjpeg might forgive
  kProgressive,  ///< and damaged, incomplete or unusual; or lossless or hierarchical
  kArithmetic,   ///< coding
  kTwelveBit,    ///< samples of another depth than 8
  kComponents,   ///< two, or four: CMYK, YCCK
  kRgb,          ///< not YCbCr
  kSampling,     ///< factors other than those above
  kScans,        ///< more than one, or not all components in it
  kWideTables,   ///< quantisation steps of 16 bits
  kLines,        ///< the height comes after the scan (DNL)
  kWindow,       ///< lies outside of the picture, or has no room in the output
};
inline constexpr int kReasons = 12;

/// A few words for people: "progressive".
std::string_view name_of(Reason reason);

/// Scales the picture down while it is decoded, as libjpeg does: each block becomes fewer samples.
/// Sides are rounded up.
enum class Scale : std::uint8_t { kWhole = 1, kHalf = 2, kQuarter = 4, kEighth = 8 };

/// A rectangle of the scaled picture, in pixels; not empty.
struct Window {
  std::uint32_t x = 0, y = 0, width = 0, height = 0;
};

/// Where the pixels go: rows of 3 * width bytes, RGB, `stride` bytes apart (grey: all three equal).
/// Nothing else is written.
struct Output {
  std::span<std::uint8_t> pixels;
  std::size_t stride = 0;
};

/// Takes the pixels of a window as they are made, so that they are used while they are in the
/// processor's cache.
class RowSink {
 public:
  /// Bytes after the last row that may be read; their values are arbitrary.
  static constexpr std::size_t kSlack = 16;

  virtual ~RowSink() = default;
  /// Takes the next `count` rows, from the top of the window: 3 * width bytes each, RGB, `stride`
  /// bytes apart, valid until this returns. `count` is a multiple of 8 except at the end. What this
  /// throws comes out of decode().
  virtual void take(const std::uint8_t* rows, std::size_t stride, std::uint32_t count) = 0;
};

struct Result {
  Reason reason = Reason::kNone;
  /// The size of the picture, not scaled, if its header was understood.
  std::uint32_t width = 0, height = 0;
  bool done() const { return reason == Reason::kNone; }
};

/// Memory and tables kept between pictures: about half a megabyte, more for windows of thousands of
/// columns, and up to 4 MiB for progressive pictures. One thread at a time.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

  /// Memory it keeps.
  std::size_t kept_bytes() const;

  struct State;
  State& state();  ///< made when it is first needed

 private:
  std::unique_ptr<State> state_;
};

/// Decodes `window` of `file`. The pixels equal those of the same window in a full decode. Reads
/// only the MCUs that the window needs where restart markers allow that, and finds them without a
/// search where the file has a RoiTable; damage elsewhere goes unnoticed. Otherwise the scan, or
/// each scan of a progressive picture, is read up to the window's end. When the result is not
/// done(), the output's content is undefined. Neither reads nor writes outside of what it is given,
/// whatever the bytes. Throws std::bad_alloc only. Any thread.
Result decode(Bytes file, const Window& window, const Output& output, Scratch& scratch,
              Scale scale = Scale::kWhole);

/// The same, row after row, without memory for the window. When the result is not done(), `sink`
/// may already have been given rows, which are to be thrown away.
Result decode(Bytes file, const Window& window, RowSink& sink, Scratch& scratch,
              Scale scale = Scale::kWhole);

}  // namespace packhorse::jpeg

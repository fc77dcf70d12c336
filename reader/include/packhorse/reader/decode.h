#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"
#include "packhorse/jpeg/decoder.h"
#include "packhorse/reader/augment.h"
#include "packhorse/reader/pixel_augment.h"

namespace packhorse::reader {

/// Whether a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size where its crop is to be shrunk by
/// at least as much: fewer pixels to make and to scale, for a result that differs (docs/augment.md
/// says by how much).
enum class ScaledDct {
  kOff,          ///< always decode at full size
  kWhenCovered,  ///< where the scaled crop still has the output's pixels, in width and height
};

struct DecodeOptions {
  bool apply_orientation = true;  ///< turn the picture as its EXIF says, before anything else
  ScaledDct scaled_dct = ScaledDct::kOff;
  PixelAugment pixels = {};  ///< done to what decode() makes
  ImageLimits limits = {};   ///< images beyond are not decoded
};

/// A JPEG that somebody else is to decode, such as a GPU, and what is to become of its pixels.
struct EncodedSample {
  std::uint32_t bytes = 0;    ///< of the JPEG; 0: there is none, but pixels
  int width = 0, height = 0;  ///< of its picture
  CropPlan plan = {};         ///< of that picture
};

/// Which decoder JPEGs went through.
struct DecodeCounters {
  std::uint64_t jpegs = 0;  ///< packhorse's own
  /// libjpeg-turbo, by why ours refused; the index is a jpeg::Reason.
  std::array<std::uint64_t, jpeg::kReasons> by_libjpeg{};
};

/// Turns an image file's bytes into pixels: RGB, 8 bit, interleaved. JPEGs are scaled row by row
/// while they are decoded; for what cannot be, it keeps buffers between calls that grow to the
/// largest crop seen. One thread at a time: one Decoder per thread.
///
/// JPEG goes through packhorse::jpeg, and what that does not take through libjpeg-turbo, with the
/// same pixels as a full decode: of a file packed with `--image roi` or `resize` only the restart
/// segments of the crop are looked at, of any other all above the crop's end is parsed, but only
/// the crop's blocks are transformed. PGM and PPM are read here, everything else through OpenCV.
/// Raw pixels have no header, so the caller must say what they are: `known` is Dataset::image() of
/// them, and anything but kRaw in it is told by the bytes instead. Grey is repeated into three
/// channels, alpha is flattened onto black, 16 bit is scaled to 8, CMYK is converted without a
/// profile.
///
/// Scaling is bilinear with antialiasing, as Pillow's BILINEAR and torchvision's antialias=True:
/// each channel of each pixel is within 1 of theirs. Mirroring, turning and placing are part of it;
/// only what is seen is scaled.
class Decoder {
 public:
  /// Throws Error(kUsage) for options that make no sense.
  explicit Decoder(DecodeOptions options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  /// Writes size x size x 3 bytes into `out` by `augment`, then changes them by the options'
  /// `pixels`. Throws Error(kCorrupt) when the bytes cannot be decoded, and `out` may hold parts of
  /// them then; warnings of the JPEG library (damaged data it papered over) count as that too.
  /// Throws Error(kUnsupported) for what is none of the usual images, or beyond the options'
  /// `limits`.
  /// Damage where nothing is decoded goes unnoticed: below the crop, and around it in a file of
  /// restart segments.
  void decode(Bytes file, const Augment& augment, SampleRandom random, std::span<std::uint8_t> out,
              const ImageInfo& known = {});

  /// Instead of decode(): puts a JPEG that has all that decode() would look at into `out`. Of a
  /// file with a table of its rows (`--image roi`) that is the restart segments of the crop, of any
  /// other the whole. Nothing but its header is looked at. `bytes` stays 0 where that cannot be,
  /// and decode() is to be called: another kind of image, one that must be turned, options'
  /// `pixels` to be done, an empty crop, or one that has no room in `out`.
  EncodedSample leave_encoded(Bytes file, const Augment& augment, SampleRandom random,
                              std::span<std::uint8_t> out, const ImageInfo& known = {});

  /// What was left: writes the pixels that decode() would have written. `size` is the side of
  /// `out`.
  void decode_left(Bytes jpeg, const EncodedSample& sample, int size, std::span<std::uint8_t> out);

  /// The whole picture, upright: out holds height x width x 3 bytes.
  void decode_full(Bytes file, std::vector<std::uint8_t>& out, int& width, int& height,
                   const ImageInfo& known = {});

  /// Of all that this one has decoded.
  DecodeCounters counters() const;

  /// Memory for pixels and for parts of files that it keeps between calls, bytes.
  std::size_t kept_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace packhorse::reader

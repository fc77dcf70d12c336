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
#include "packhorse/reader/geometry.h"
#include "packhorse/reader/pixel_steps.h"

namespace packhorse::reader {

/// Whether a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size where its crop is to be shrunk at
/// least that much: fewer pixels to make and to scale, but a different result (docs/augment.md says
/// by how much).
enum class ScaledDct {
  kOff,          ///< always decode at full size
  kWhenCovered,  ///< where the scaled crop still has the output's pixels, in width and height
};

/// Which samples of each pixel are wanted, where they are not colours of 8 bits.
struct BandChoice {
  std::vector<int> numbers = {};  ///< of the bands, counted from 0; empty: colours are wanted
  int of = 0;                     ///< bands that an image must have; 0: any number
  int bits = 0;                   ///< of its samples: 8, 16, or 32 for floats; 0: 8 or 16
};

struct DecodeOptions {
  bool apply_orientation = true;  ///< turn the picture as its EXIF says, before anything else
  ScaledDct scaled_dct = ScaledDct::kOff;
  PixelSteps pixels = {};  ///< applied to the pixels of decode(); only for colours
  /// If it names bands, pixels are these bands as floats, instead of RGB of 8 bits: integers as
  /// fractions of the highest number of their bits, floats as they are stored. Nothing is left
  /// encoded then, and JPEGs are decoded at full size.
  BandChoice bands = {};
  ImageLimits limits = {};  ///< images beyond are not decoded
};

/// A JPEG left encoded for another decoder, such as a GPU, and what to make of its pixels.
struct EncodedSample {
  std::uint32_t bytes = 0;    ///< length of the JPEG; 0: the place holds pixels instead
  int width = 0, height = 0;  ///< size of the JPEG's picture
  CropPlan plan = {};         ///< for that picture
};

/// A sample to make of a picture: by `augment`, from `random`, then by `pixels`, into `out`, which
/// holds height x width x Decoder::bytes_of_pixel() bytes.
struct CropRequest {
  const Augment& augment;
  const PixelSteps& pixels;
  SampleRandom random;
  std::span<std::uint8_t> out;
};

/// The pixels that pictures are drawn into, rows one after the other.
struct DrawTarget {
  std::span<std::uint8_t> pixels;  ///< height x width x Decoder::bytes_of_pixel()
  ImageSize size;
};

/// How many JPEGs went through which decoder.
struct DecodeCounters {
  std::uint64_t jpegs = 0;  ///< packhorse's own
  /// Decoded by libjpeg-turbo, by the reason why packhorse's refused; the index is a jpeg::Reason.
  std::array<std::uint64_t, jpeg::kReasons> by_libjpeg{};
};

/// Turns an image file's bytes into pixels: RGB, 8 bit, interleaved. Images are scaled row by row
/// while they are decoded. It keeps buffers between calls, for some rows of the widest crop, and
/// where pictures are warped for the largest. One thread at a time: use one Decoder per thread.
///
/// JPEGs go through packhorse::jpeg, those it refuses through libjpeg-turbo, with the same pixels
/// as a full decode. In a file packed with `--image roi` or `resize` only the restart segments of
/// the crop are read; in any other, everything above the crop's end is parsed, but only the crop's
/// blocks are transformed. All other kinds go through codecs/colour_rows.h, which says
/// how samples become colours; grey is repeated into three channels. Raw pixels have no header, so
/// the caller must describe them: `known` is their Dataset::image(); for other kinds it only says
/// that the sample was packed, so that the first frame of an animation is taken.
///
/// An effect on the whole process: while an AVIF, HEIC or JPEG XL is decoded, C's `stderr` is a
/// stand-in, which drops what the library writes there from that thread and hands on all else.
///
/// Scaling is bilinear or bicubic, with antialiasing, as in Pillow and with torchvision's
/// antialias=True: each channel of each pixel is within 1 of theirs. Mirroring, turning and placing
/// are part of it; only visible pixels are scaled.
class Decoder {
 public:
  /// Throws Error(kUsage) for options that make no sense.
  explicit Decoder(DecodeOptions options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  /// Writes height x width x 3 bytes into `out` by `augment`, then applies the options' `pixels`.
  /// Throws Error(kCorrupt) when the bytes cannot be decoded; `out` may then hold part of the
  /// picture. Warnings of the JPEG library (damage that it hides) count as that, too. Throws
  /// Error(kUnsupported) for a file of an unsupported kind or beyond the options' `limits`. Damage
  /// where nothing is decoded goes unnoticed: below the crop, and around it in a file with restart
  /// segments.
  void decode(Bytes file, const Augment& augment, SampleRandom random, std::span<std::uint8_t> out,
              const ImageInfo& known = {});
  /// The same for several samples of one picture, which is decoded once, as far as any of them
  /// needs it. The pixels are those of a decode() for each.
  void decode(Bytes file, std::span<const CropRequest> crops, const ImageInfo& known = {});

  /// Alternative to decode(): copies a JPEG with everything that decode() would read into `out`.
  /// From a file with a table of its rows (`--image roi`) that is the restart segments of the crop,
  /// from any other the whole file. Only the header is parsed. `bytes` stays 0 when that is
  /// impossible, and decode() must be called: for another kind of image, one that must be turned,
  /// options with `pixels`, an empty crop, or a JPEG that does not fit in `out`.
  EncodedSample leave_encoded(Bytes file, const Augment& augment, SampleRandom random,
                              std::span<std::uint8_t> out, const ImageInfo& known = {});

  /// Decodes what leave_encoded() left: writes the pixels that decode() would have written. `size`
  /// is that of `out`.
  void decode_left(Bytes jpeg, const EncodedSample& sample, ImageSize size,
                   std::span<std::uint8_t> out);

  /// What draw() needs to know of an image: its header, or `known` where it has none. The size is
  /// of the stored picture; its orientation is 1 unless it is to be turned. Throws what decode()
  /// throws.
  ImageInfo header(Bytes file, const ImageInfo& known = {}) const;
  /// Writes the pixels that a picture covers when it is put where `placement` says, and leaves the
  /// others alone. Reads no more of the picture than is seen. `info` is its header(); `is_tile`:
  /// other pictures lie beside it, so that pixels at its edge are not mixed with what is behind.
  /// Applies no `pixels`. Throws what decode() throws.
  void draw(Bytes file, const ImageInfo& info, const Placement& placement, bool is_tile,
            const DrawTarget& to);

  /// Decodes the whole picture, upright: out holds height x width x 3 bytes.
  void decode_full(Bytes file, std::vector<std::uint8_t>& out, int& width, int& height,
                   const ImageInfo& known = {});

  /// Of each pixel that it writes: 3, or four for each band.
  std::size_t bytes_of_pixel() const;

  /// Counts of all that this Decoder has decoded.
  DecodeCounters counters() const;

  /// Bytes of memory that it keeps between calls, for pixels and for parts of files.
  std::size_t kept_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace packhorse::reader

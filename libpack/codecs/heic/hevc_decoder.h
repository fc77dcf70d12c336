#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codecs/heic/libheif.h"

/// Private to libpack/codecs/heic: the decoder that libheif uses for HEVC instead of its own. That
/// one takes what libde265 has made of a damaged picture, including parts that were never decoded.
/// This one refuses a picture unless all of it was decoded, without an error or a warning.
namespace packhorse::codecs {

/// Why libde265 is not there; empty when it is.
std::string why_no_hevc();

/// To be registered with libheif once. It serves threads that have a CodedPictures.
extern const heif_decoder_plugin kHevcDecoder;

/// The coded pictures of the file that this thread decodes, in libheif's order: one, or the tiles
/// of a grid, and the same for alpha. It must be destroyed in the thread that made it.
class CodedPictures {
 public:
  struct Picture {
    int width, height, bits;
  };
  /// The pictures of a file whose image has this many pixels.
  explicit CodedPictures(std::uint64_t pixels);
  ~CodedPictures();
  CodedPictures(const CodedPictures&) = delete;
  CodedPictures& operator=(const CodedPictures&) = delete;

  const std::vector<Picture>& decoded() const { return decoded_; }
  /// From here on pictures are not decoded: all samples of number i are (first + i) % 256. This
  /// shows where libheif puts them.
  void paint(unsigned first);

 private:
  friend struct HevcDecoder;
  const std::uint64_t most_pixels_;  // of one picture
  std::uint64_t pixels_left_;        // of all
  std::vector<Picture> decoded_;
  bool painting_ = false;
  unsigned first_ = 0;
  std::size_t painted_ = 0;
};

}  // namespace packhorse::codecs

#pragma once

#include <array>
#include <cstdint>

#include "jpeg/kernels/quantisation.h"
#include "packhorse/base/bytes.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

/// A Huffman table as the file has it: how many codes of each length from 1 on, and their symbols.
struct HuffmanSpec {
  bool defined = false;
  std::array<std::uint8_t, 16> counts{};
  std::array<std::uint8_t, 256> symbols{};
  friend bool operator==(const HuffmanSpec&, const HuffmanSpec&) = default;
};

struct Component {
  std::uint32_t id = 0;
  std::uint32_t h = 1, v = 1;      ///< sampling factors: blocks in an MCU
  std::uint32_t quantisation = 0;  ///< which of the tables
  std::uint32_t dc = 0, ac = 0;    ///< Huffman tables
  std::uint32_t side = 8;          ///< a block's side in samples: fewer where the picture is scaled
};

inline constexpr std::uint32_t kMaxComponents = 3;
inline constexpr std::uint32_t kMaxBlocksPerMcu = 6;

/// What precedes the scan.
struct Frame {
  std::uint32_t width = 0, height = 0;  ///< pixels
  std::uint32_t components = 0;         ///< 1 or 3
  std::array<Component, kMaxComponents> component{};
  std::array<Quantisation, 4> quantisation{};
  std::array<HuffmanSpec, 4> dc{}, ac{};
  std::uint32_t restart_interval = 0;  ///< MCUs; 0: no markers
  Bytes scan_header;                   ///< the body of the first SOS
  std::size_t scan = 0;                ///< offset of the first entropy-coded byte
  Bytes row_offsets;                   ///< from a RoiTable with this file's interval; or empty
  bool progressive = false;            ///< its coefficients come in several scans (progressive.h)

  // These follow from the above.
  std::uint32_t h = 1, v = 1;  ///< the largest sampling factors
  std::uint32_t mcus_per_row = 0, mcu_rows = 0;
  std::uint32_t blocks_per_mcu = 0;

  // The scaled picture, with sides of one over `scale`, rounded up.
  std::uint32_t scale = 1;           ///< 1, 2, 4 or 8
  std::uint32_t up_h = 1, up_v = 1;  ///< pixels that a sample of chroma stands for
  std::uint32_t scaled_width() const { return (width + scale - 1) / scale; }
  std::uint32_t scaled_height() const { return (height + scale - 1) / scale; }
  std::uint32_t mcu_width() const { return 8 * h / scale; }
  std::uint32_t mcu_height() const { return 8 * v / scale; }
  std::uint32_t mcus() const { return mcus_per_row * mcu_rows; }
  /// Size of the subsampled components, in samples.
  std::uint32_t chroma_width() const { return samples(width, h); }
  std::uint32_t chroma_height() const { return samples(height, v); }

 private:
  std::uint32_t samples(std::uint32_t pixels, std::uint32_t sampling) const {
    return (pixels * component[1].side + 8 * sampling - 1) / (8 * sampling);
  }
};

/// Takes the segments of a header one after the other; each function gets a segment's body. Takes
/// only what libjpeg takes without a warning.
class HeaderParser {
 public:
  /// `frame` must be a new one, and outlive this.
  explicit HeaderParser(Frame& frame) : frame_(frame) {}
  /// Any segment but SOS.
  Reason take(std::uint8_t marker, Bytes body);
  /// The first SOS. Of a progressive picture it checks only what holds for all scans.
  Reason start_of_scan(Bytes body);

 private:
  Reason huffman(Bytes body);
  Reason quantisation(Bytes body);
  Reason jfif(Bytes body);
  Reason adobe(Bytes body);
  Reason start_of_frame(std::uint8_t marker, Bytes body);
  Reason only_scan(Bytes body);
  Reason colours() const;
  Reason sampling();
  void use_roi_table();

  Frame& frame_;
  std::array<bool, 4> quantisation_defined_{};
  bool frame_seen_ = false, jfif_ = false;
  int adobe_transform_ = -1;  // none
  int roi_tables_ = 0;
  Bytes roi_table_;
};

/// Reads the segments from SOI to the first SOS with `parser`, whose frame is `frame`.
Reason parse_frame(Bytes file, HeaderParser& parser, Frame& frame);
/// The same where nothing more is to be parsed.
Reason parse_frame(Bytes file, Frame& frame);

/// Scales the picture to one over `scale`, as libjpeg does: blocks become smaller. Chroma that is
/// subsampled in both directions keeps its blocks as long as it has too few samples.
void scale_frame(Frame& frame, std::uint32_t scale);

}  // namespace packhorse::jpeg

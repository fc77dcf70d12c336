#include <algorithm>
#include <cmath>

#include "codecs/colour_rows.h"
#include "jpeg/decode/marker_segments.h"
#include "jpeg/encode/forward_dct.h"
#include "jpeg/encode/jpeg_writer.h"
#include "jpeg/encode/transcode.h"
#include "packhorse/base/error.h"
#include "transforms/jpeg_planes.h"
#include "transforms/transform.h"

namespace packhorse::transforms {

using encode::Block;
using encode::ForwardDct;
using encode::Frame;
using encode::FrameComponent;
using encode::Marker;
using encode::ScanCoder;

namespace {

constexpr std::size_t kMaxBlocksOfMcu = 10;  // T.81 B.2.3
constexpr std::string_view kIccIdentifier{"ICC_PROFILE\0", 12};

/// JFIF 1.01, density unknown: square pixels.
constexpr std::string_view kJfif{"JFIF\0\1\1\0\0\1\0\1\0\0", 14};

/// The colour profile's segments: the one piece of metadata that the new picture still needs.
std::vector<Marker> markers_for(Bytes file, bool with_profile) {
  std::vector<Marker> markers{{jpeg::kApp0, as_bytes(kJfif)}};
  jpeg::SegmentWalk walk(file);
  while (with_profile) {
    const std::optional<jpeg::Segment> segment = walk.next();
    if (!segment || segment->marker == jpeg::kSos) break;
    if (segment->marker == jpeg::kApp2 && as_text(segment->body).starts_with(kIccIdentifier)) {
      markers.push_back({jpeg::kApp2, segment->body});
    }
  }
  return markers;
}

/// JFIF's YCbCr, in 16-bit fixed point, rounded.
void to_ycbcr(const Plane& rgb, Planes& planes) {
  for (std::size_t c = 0; c < 3; ++c) planes[c].reset(rgb.width, rgb.height);
  for (int y = 0; y < rgb.height; ++y) {
    const std::uint8_t* in = rgb.row(y);
    std::uint8_t *luma = planes[0].row(y), *cb = planes[1].row(y), *cr = planes[2].row(y);
    for (int x = 0; x < rgb.width; ++x, in += 3) {
      const int r = in[0], g = in[1], b = in[2];
      constexpr int kHalf = 1 << 15, kCentre = (128 << 16) + kHalf - 1;
      luma[x] = static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + kHalf) >> 16);
      cb[x] = static_cast<std::uint8_t>((-11059 * r - 21709 * g + 32768 * b + kCentre) >> 16);
      cr[x] = static_cast<std::uint8_t>((32768 * r - 27439 * g - 5329 * b + kCentre) >> 16);
    }
  }
}

void halve(Plane& plane) {
  Plane half;
  half.reset((plane.width + 1) / 2, (plane.height + 1) / 2);
  AreaResampler resampler;
  resampler.start({plane.width, half.width, 0, 2}, {plane.height, half.height, 0, 2}, 1,
                  half.row(0), half.stride);
  for (int y = 0; y < plane.height; ++y) resampler.add_row(plane.row(y));
  std::swap(plane, half);
}

/// Everything a thread keeps between pictures.
struct Scratch {
  Planes planes;
  Plane rgb, turned;
  AreaResampler resampler;
  ScanCoder coder;
  std::vector<std::int16_t> coefficients;
};

/// Transforms and encodes `planes`, which have the sizes given by `frame`.
void encode_planes(const Frame& frame, Scratch& scratch, const std::vector<Marker>& markers,
                   std::vector<std::byte>& output) {
  const std::array<ForwardDct, 2> dct{ForwardDct(frame.quant[0]), ForwardDct(frame.quant[1])};
  std::array<std::size_t, encode::kMaxComponents> first{};
  std::size_t blocks = 0;
  for (std::size_t c = 0; c < frame.count; ++c) {
    scratch.planes[c].fill_padding();
    first[c] = blocks;
    blocks += std::size_t{frame.blocks_wide(c)} * frame.mcu_v(c);
  }
  scratch.coefficients.resize(blocks * encode::kBlock);
  auto* memory = reinterpret_cast<Block*>(scratch.coefficients.data());
  scratch.coder.start(frame);
  for (std::uint32_t mcu_row = 0; mcu_row < frame.mcu_rows(); ++mcu_row) {
    ScanCoder::BlockRows rows{};
    for (std::size_t c = 0; c < frame.count; ++c) {
      const Plane& plane = scratch.planes[c];
      for (std::uint32_t v = 0; v < frame.mcu_v(c); ++v) {
        const std::uint32_t block_row = mcu_row * frame.mcu_v(c) + v;
        if (block_row >= frame.blocks_high(c)) continue;
        Block* to = memory + first[c] + std::size_t{v} * frame.blocks_wide(c);
        rows[c][v] = to;
        const std::uint8_t* from = plane.row(static_cast<int>(block_row * 8));
        for (std::uint32_t x = 0; x < frame.blocks_wide(c); ++x) {
          dct[frame.components[c].quant].transform(from + 8 * std::size_t{x}, plane.stride, to[x]);
        }
      }
    }
    scratch.coder.add_mcu_row(rows);
  }
  scratch.coder.finish();
  encode::write_jpeg(frame, markers, scratch.coder, output);
}

class Resize final : public Transform {
 public:
  explicit Resize(const TransformOptions& options) : options_(options) {}

  Transformed apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const override {
    refuse_pixels(info, "resize");
    const bool shrink = std::min(info.width, info.height) > side();
    if (!shrink && info.orientation == 1 && !encode::reason_to_keep(input, info) &&
        encode::transcode(input, info, options_.restart_mcus, output)) {
      if (as_text(input) == as_text(output)) return {input, "kept: already roi-ready"};
      return {output, "size and pixels kept: no larger than asked for"};
    }
    thread_local Scratch scratch;
    PixelMap map;
    const std::string_view note = remake(input, info, scratch, output, map);
    return {output, note, map};
  }

 private:
  std::uint32_t side() const { return static_cast<std::uint32_t>(options_.short_side); }

  /// The new picture's frame, before it is turned; grey or YCbCr without subsampling.
  Frame frame_for(const ImageInfo& info, std::size_t components) const {
    Frame frame;
    frame.width = info.width;
    frame.height = info.height;
    const std::uint32_t least = std::min(info.width, info.height);
    if (least > side()) {
      const auto scaled = [&](std::uint32_t n) {
        return static_cast<std::uint32_t>((std::uint64_t{n} * side() * 2 + least) /
                                          (std::uint64_t{2} * least));
      };
      frame.width = scaled(info.width);
      frame.height = scaled(info.height);
    }
    frame.count = components;
    for (std::size_t c = 0; c < components; ++c) {
      frame.components[c] = {static_cast<std::uint8_t>(c + 1), 1, 1,
                             static_cast<std::uint8_t>(c == 0 ? 0 : 1)};
    }
    frame.quant[0] = encode::luma_table(options_.quality);
    frame.quant[1] = encode::chroma_table(options_.quality);
    if (components == 3 && options_.chroma == TransformOptions::Chroma::k420) {
      frame.components[0].h = frame.components[0].v = 2;
    }
    return frame;
  }

  void take_sampling(const jpeg_decompress_struct& jpeg, Frame& frame) const {
    if (options_.chroma != TransformOptions::Chroma::kAsSource || frame.count == 1) return;
    std::size_t blocks = 0;
    for (std::size_t c = 0; c < frame.count; ++c) {
      frame.components[c].h = static_cast<std::uint8_t>(jpeg.comp_info[c].h_samp_factor);
      frame.components[c].v = static_cast<std::uint8_t>(jpeg.comp_info[c].v_samp_factor);
      blocks += std::size_t{frame.components[c].h} * frame.components[c].v;
    }
    if (blocks <= kMaxBlocksOfMcu) return;
    for (FrameComponent& component : frame.components) component.h = component.v = 1;
    frame.components[0].h = frame.components[0].v = 2;
  }

  static PixelMap map_to(const Frame& frame, const ImageInfo& info) {
    return {.scale_x = double{1} * frame.width / info.width,
            .scale_y = double{1} * frame.height / info.height,
            .turn = info.turn(),
            .width = frame.width,
            .height = frame.height};
  }

  /// Decodes, shrinks, turns and encodes. Returns the note.
  std::string_view remake(Bytes input, ImageInfo& info, Scratch& scratch,
                          std::vector<std::byte>& output, PixelMap& map) const {
    const Turn turn = info.turn();
    Frame frame;
    std::string_view note;
    bool profile = info.kind == ImageKind::kJpeg;
    if (!read_as_planes(input, info, turn, frame, scratch)) {
      note = read_as_rgb(input, info, turn, frame, scratch);
      profile = profile && note.empty();  // a CMYK profile does not describe RGB
    }
    map = map_to(frame, info);
    if (turn.swap) {
      std::swap(frame.width, frame.height);
      for (FrameComponent& component : frame.components) std::swap(component.h, component.v);
    }
    frame.restart_interval = encode::restart_interval_from(
        static_cast<std::uint32_t>(options_.restart_mcus), frame.mcus_per_row());
    encode_planes(frame, scratch, markers_for(input, profile), output);
    if (note.empty() && info.kind != ImageKind::kJpeg) note = "made a JPEG";
    info = {.kind = ImageKind::kJpeg,
            .components = static_cast<std::uint8_t>(frame.count),
            .bit_depth = 8,
            .orientation = 1,
            .width = frame.width,
            .height = frame.height};
    return note;
  }

  /// The fast path, for nearly all JPEGs; returns false for the others.
  bool read_as_planes(Bytes input, const ImageInfo& info, const Turn& turn, Frame& frame,
                      Scratch& scratch) const {
    if (info.kind != ImageKind::kJpeg) return false;
    JpegSession session(input);
    session.read_header(info.width, info.height);
    if (!has_planes(session.jpeg())) return false;
    frame = frame_for(info, static_cast<std::size_t>(session.jpeg().num_components));
    take_sampling(session.jpeg(), frame);
    read_planes(session, info, frame, turn, scratch.planes);
    if (!turn.any()) return true;
    for (std::size_t c = 0; c < frame.count; ++c) {
      turn_upright(scratch.planes[c], turn, scratch.turned);
      std::swap(scratch.planes[c], scratch.turned);
    }
    return true;
  }

  /// The path for everything else, by RGB or grey. Returns the note.
  std::string_view read_as_rgb(Bytes input, const ImageInfo& info, const Turn& turn, Frame& frame,
                               Scratch& scratch) const {
    const Frame size = frame_for(info, 1);
    const int width = static_cast<int>(size.width), height = static_cast<int>(size.height);
    const std::unique_ptr<ColourRows> source =
        open_colours(input, info, {.eighths = decode_eighths(info, width, height)});
    frame = frame_for(info, static_cast<std::size_t>(source->channels));
    scratch.rgb.reset(width, height, source->channels);
    const AreaAxis x{source->width, width, 0, info.width * source->samples_per_pixel / width};
    const AreaAxis y{source->height, height, 0, info.height * source->samples_per_pixel / height};
    scratch.resampler.start(x, y, source->channels, scratch.rgb.row(0), scratch.rgb.stride);
    for (int row = 0; row < source->height; ++row) scratch.resampler.add_row(source->next_row());
    if (turn.any()) {
      turn_upright(scratch.rgb, turn, scratch.turned);
      std::swap(scratch.rgb, scratch.turned);
    }
    if (source->channels == 1) {
      std::swap(scratch.planes[0], scratch.rgb);
    } else {
      to_ycbcr(scratch.rgb, scratch.planes);
      for (std::size_t c = 1; c < 3 && frame.h_max() == 2; ++c) halve(scratch.planes[c]);
    }
    return source->note;
  }

  TransformOptions options_;
};

}  // namespace

std::unique_ptr<Transform> make_resize(const TransformOptions& options) {
  return std::make_unique<Resize>(options);
}

}  // namespace packhorse::transforms

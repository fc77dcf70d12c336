#include "transforms/jpeg_planes.h"

#include "codecs/colour_rows.h"

namespace packhorse::transforms {

namespace {

constexpr int kMostRows = 4 * DCTSIZE;  // rows of a component in one row of MCUs

/// Room for the rows of blocks that libjpeg returns at once, by component.
struct RawRows {
  std::array<std::vector<std::uint8_t>, encode::kMaxComponents> samples;
  std::array<std::array<JSAMPROW, kMostRows>, encode::kMaxComponents> rows;
  std::array<JSAMPARRAY, encode::kMaxComponents> pointers;

  void prepare(const jpeg_decompress_struct& jpeg) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(jpeg.num_components); ++c) {
      const jpeg_component_info& component = jpeg.comp_info[c];
      const std::size_t stride = std::size_t{component.width_in_blocks} *
                                 static_cast<std::size_t>(component.DCT_scaled_size);
      samples[c].resize(stride * kMostRows);
      for (std::size_t y = 0; y < kMostRows; ++y) rows[c][y] = samples[c].data() + y * stride;
      pointers[c] = rows[c].data();
    }
  }
};

/// One axis of one component, computed in pixels of the frames first. A sample of the new plane
/// covers max / factor pixels of the new frame, each of them `ratio` pixels of the old frame.
AreaAxis axis_of(double old_pixels, int old_factor, int old_max, int old_samples, double decoded,
                 std::uint32_t new_pixels, std::uint32_t new_factor, std::uint32_t new_max,
                 std::uint32_t new_samples, bool mirrored) {
  const double ratio = old_pixels / new_pixels;
  const double old_per_pixel = decoded * old_factor / old_max;
  const double new_sample = static_cast<double>(new_max) / new_factor;  // pixels
  AreaAxis axis;
  axis.in = old_samples;
  axis.out = static_cast<int>(new_samples);
  axis.scale = new_sample * ratio * old_per_pixel;
  if (mirrored) axis.origin = (new_pixels - new_samples * new_sample) * ratio * old_per_pixel;
  return axis;
}

}  // namespace

bool has_planes(const jpeg_decompress_struct& jpeg) {
  return (jpeg.jpeg_color_space == JCS_GRAYSCALE && jpeg.num_components == 1) ||
         (jpeg.jpeg_color_space == JCS_YCbCr && jpeg.num_components == 3);
}

void read_planes(JpegSession& session, const ImageInfo& info, const encode::Frame& frame,
                 const Turn& turn, Planes& planes) {
  thread_local RawRows raw;
  thread_local std::array<AreaResampler, encode::kMaxComponents> resamplers;
  jpeg_decompress_struct& jpeg = session.jpeg();
  jpeg.scale_num = static_cast<unsigned>(
      decode_eighths(info, static_cast<int>(frame.width), static_cast<int>(frame.height)));
  jpeg.scale_denom = 8;
  jpeg.raw_data_out = TRUE;
  session.run([&] { jpeg_start_decompress(&jpeg); });
  raw.prepare(jpeg);

  for (std::size_t c = 0; c < frame.count; ++c) {
    const jpeg_component_info& old = jpeg.comp_info[c];
    const encode::FrameComponent& now = frame.components[c];
    Plane& plane = planes[c];
    plane.reset(static_cast<int>(frame.samples_wide(c)), static_cast<int>(frame.samples_high(c)));
    // libjpeg may decode chroma at a larger fraction of its size than luma, instead of enlarging
    // it.
    const double decoded = old.DCT_scaled_size / 8.0;
    const AreaAxis x = axis_of(info.width, old.h_samp_factor, jpeg.max_h_samp_factor,
                               static_cast<int>(old.downsampled_width), decoded, frame.width, now.h,
                               frame.h_max(), frame.samples_wide(c), turn.flip_x);
    const AreaAxis y = axis_of(info.height, old.v_samp_factor, jpeg.max_v_samp_factor,
                               static_cast<int>(old.downsampled_height), decoded, frame.height,
                               now.v, frame.v_max(), frame.samples_high(c), turn.flip_y);
    resamplers[c].start(x, y, 1, plane.row(0), plane.stride);
  }
  const auto lines = static_cast<JDIMENSION>(jpeg.max_v_samp_factor * jpeg.min_DCT_scaled_size);
  std::array<JDIMENSION, encode::kMaxComponents> read{};
  while (jpeg.output_scanline < jpeg.output_height) {
    session.run([&] { jpeg_read_raw_data(&jpeg, raw.pointers.data(), lines); });
    for (std::size_t c = 0; c < frame.count; ++c) {
      const jpeg_component_info& old = jpeg.comp_info[c];
      const auto rows = static_cast<JDIMENSION>(old.v_samp_factor * old.DCT_scaled_size);
      for (JDIMENSION y = 0; y < rows && read[c] < old.downsampled_height; ++y, ++read[c]) {
        resamplers[c].add_row(raw.rows[c][y]);
      }
    }
  }
  // Damage at the very end only shows when the end is read.
  session.run([&] { jpeg_finish_decompress(&jpeg); });
}

}  // namespace packhorse::transforms

#include "packhorse/reader/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "codecs/image_header.h"
#include "decode/colours.h"
#include "decode/jpeg_decoder.h"
#include "decode/resample.h"
#include "packhorse/base/error.h"
#include "pixels/warp.h"

namespace packhorse::reader {

namespace {

/// The largest of 8, 4 and 2 that leaves the crop no smaller than it will be; 1 where none does.
int shrinking_for(const CropPlan& plan) {
  for (const int shrunk : {8, 4, 2}) {
    if (plan.w / shrunk >= plan.scaled_w && plan.h / shrunk >= plan.scaled_h) return shrunk;
  }
  return 1;
}

/// A placement in two steps: onto a part of the canvas, which is never larger than the picture, and
/// from there to the output.
struct TwoSteps {
  Placement first;
  Window extent = {};  ///< of the canvas that the picture covers
  Window part = {};    ///< of these, what is seen
  Matrix inverse = {};
};

/// The pixels of `extent` that are needed for what is seen of it.
Window part_seen(const Window& extent, const Matrix& inverse, const Window& seen) {
  constexpr double kNeighbours = 2;
  const Rect needed =
      around(inverse, {static_cast<double>(seen.x), static_cast<double>(seen.y),
                       static_cast<double>(seen.x + seen.w), static_cast<double>(seen.y + seen.h)});
  const auto clamped = [](double edge, int low, int length) {
    const double most = low + length;
    return static_cast<int>(std::isnan(edge) ? most
                                             : std::clamp(edge, static_cast<double>(low), most));
  };
  Window part;
  part.x = clamped(std::floor(needed.left - kNeighbours), extent.x, extent.w);
  part.y = clamped(std::floor(needed.top - kNeighbours), extent.y, extent.h);
  part.w = clamped(std::ceil(needed.right + kNeighbours), extent.x, extent.w) - part.x;
  part.h = clamped(std::ceil(needed.bottom + kNeighbours), extent.y, extent.h) - part.y;
  return part;
}

/// A perspective may see the picture's horizon: then all of it may be needed.
bool sees_horizon(const Matrix& inverse, const Window& seen) {
  const auto sign = [&](int x, int y) {
    return inverse.m[6] * x + inverse.m[7] * y + inverse.m[8] > 0;
  };
  const int right = seen.x + seen.w, bottom = seen.y + seen.h;
  const bool first = sign(seen.x, seen.y);
  return sign(right, seen.y) != first || sign(right, bottom) != first ||
         sign(seen.x, bottom) != first;
}

TwoSteps two_steps(const Placement& placement, const Window& seen) {
  TwoSteps steps{.first = placement};
  Placement& first = steps.first;
  // Enlarging is left to the second step.
  Matrix rest = placement.warp;
  if (first.scale_x >= 1) {
    rest = rest * Matrix::affine(first.scale_x, 0, first.move_x, 0, 1, 0);
    first.scale_x = 1;
    first.move_x = 0;
  }
  if (first.scale_y >= 1) {
    rest = rest * Matrix::affine(1, 0, 0, 0, first.scale_y, first.move_y);
    first.scale_y = 1;
    first.move_y = 0;
  }
  first.warp = {};
  const Rect canvas = around(first.matrix(), first.shown);
  // The canvas begins where the picture does, so that no coordinate is negative.
  const double left = std::floor(canvas.left), top = std::floor(canvas.top);
  first.move_x -= left;
  first.move_y -= top;
  steps.inverse = Matrix::translation(-left, -top) * rest.inverse();
  steps.extent = seen_window(first, {static_cast<int>(std::ceil(canvas.bottom - top)) + 1,
                                     static_cast<int>(std::ceil(canvas.right - left)) + 1});
  steps.part = sees_horizon(steps.inverse, seen) ? steps.extent
                                                 : part_seen(steps.extent, steps.inverse, seen);
  return steps;
}

/// The smallest window that holds both.
Window around(const Window& a, const Window& b) {
  const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.w, b.x + b.w) - x, std::max(a.y + a.h, b.y + b.h) - y};
}

/// Hands the rows of one window to several sinks, to each those of a window within. Keeps its
/// memory.
class WindowSplitter : public PixelSink {
 public:
  explicit WindowSplitter(std::size_t pixel_bytes) : pixel_bytes_(pixel_bytes) {}

  void clear() {
    parts_.clear();
    all_ = {};
  }
  void add(const Window& window, PixelSink& sink) {
    all_ = parts_.empty() ? window : around(all_, window);
    parts_.push_back({window, &sink});
  }
  /// What holds all of the windows.
  const Window& needed() const { return all_; }

  void start() override {
    y_ = all_.y;
    for (const Part& part : parts_) part.sink->start();
  }
  void take(const PixelView& rows) override {
    for (const auto& [window, sink] : parts_) {
      const int first = std::max(window.y, y_);
      const int end = std::min(window.y + window.h, y_ + rows.height);
      if (first >= end) continue;
      sink->take({rows.data + static_cast<std::size_t>(first - y_) * rows.stride +
                      static_cast<std::size_t>(window.x - all_.x) * pixel_bytes_,
                  window.w, end - first, rows.stride});
    }
    y_ += rows.height;
  }

 private:
  struct Part {
    Window window;
    PixelSink* sink;
  };
  std::size_t pixel_bytes_;
  std::vector<Part> parts_;
  Window all_;
  int y_ = 0;  ///< of the next row, as the windows count
};

}  // namespace

struct Decoder::State {
  explicit State(DecodeOptions given)
      : options(std::move(given)), shape{options.bands.numbers.size()}, resampler(shape) {}

  DecodeOptions options;
  PixelShape shape;
  std::vector<std::unique_ptr<JpegDecoder>> jpeg_decoders = make_jpeg_decoders();
  PixelBuffer pixels, canvas;
  Resampler resampler;  ///< of the first crop
  std::vector<Resampler> others;
  std::vector<CropPlan> plans;
  WindowSplitter splitter{shape.bytes()};

  void check_room(const CropRequest& crop) const {
    const auto [height, width] = output_size(crop.augment);
    const std::size_t bytes =
        shape.bytes() * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    if (crop.out.size() != bytes)
      throw Error(ErrorKind::kUsage, "the pixels take " + std::to_string(bytes) +
                                         " bytes, but there is only room for " +
                                         std::to_string(crop.out.size()));
  }

  /// The factor by which the picture may be shrunk while it is decoded for all plans.
  int shrinking(const ImageInfo& info) const {
    const bool may = options.scaled_dct == ScaledDct::kWhenCovered &&
                     info.kind == ImageKind::kJpeg && shape.is_rgb();
    int shrunk = may ? 8 : 1;
    for (const CropPlan& plan : plans) shrunk = std::min(shrunk, may ? shrinking_for(plan) : 1);
    return shrunk;
  }

  Resampler& resampler_of(std::size_t crop) { return crop == 0 ? resampler : others[crop - 1]; }

  /// Decodes what any of `crops` needs, and makes their pixels.
  void make(Bytes file, const ImageInfo& info, std::span<const CropRequest> crops) {
    const Turn turn = turn_for(info);
    const int width = static_cast<int>(info.width), height = static_cast<int>(info.height);
    plans.clear();
    for (const CropRequest& crop : crops)
      plans.push_back(turn.swap ? plan_crop(crop.augment, height, width, crop.random)
                                : plan_crop(crop.augment, width, height, crop.random));
    const int shrunk = shrinking(info);
    while (others.size() + 1 < crops.size()) others.emplace_back(shape);
    splitter.clear();
    for (std::size_t i = 0; i < crops.size(); ++i) {
      const ImageSize size = output_size(crops[i].augment);
      Resampler& maker = resampler_of(i);
      const Window window = maker.prepare(plans[i], turn, size, width, height, shrunk);
      maker.write_to(crops[i].out.data(), static_cast<std::size_t>(size.width) * shape.bytes());
      if (window.w > 0 && window.h > 0) splitter.add(window, maker);
    }
    const Window needed = splitter.needed();
    if (needed.w > 0) decode_window(file, info, needed, shrunk, splitter);
  }

  void decode_window(Bytes file, const ImageInfo& info, const Window& window, int shrunk,
                     PixelSink& sink) {
    if (!shape.is_rgb()) return decode_bands(file, info, window, options.bands, pixels, sink);
    if (info.kind == ImageKind::kJpeg)
      return decode_jpeg(jpeg_decoders, {file, info, window, shrunk}, pixels, sink);
    if (info.kind != ImageKind::kRaw) return decode_colours(file, info, window, pixels, sink);
    sink.start();
    sink.take(raw_window(file, info, window, pixels));
  }

  ImageInfo header_of(Bytes file, const ImageInfo& known) const {
    if (known.kind == ImageKind::kRaw) return known;
    if (known.kind != ImageKind::kUnknown) return packed_header(file, known, options.limits);
    ImageLimits limits = options.limits;
    limits.bands = limits.bands || !shape.is_rgb();
    return header_to_decode(file, limits);
  }

  Turn turn_for(const ImageInfo& info) const {
    return Turn(options.apply_orientation ? info.orientation : 1);
  }

  /// Scales the pixels of `window` of a placement that keeps the axes into `out`.
  void scale(Bytes file, const ImageInfo& info, const Placement& placement, const Window& seen,
             std::uint8_t* out, std::size_t stride) {
    const Window window = resampler.prepare(
        placement, info.turn(), seen, static_cast<int>(info.width), static_cast<int>(info.height));
    resampler.write_to(out, stride);
    if (window.w > 0 && window.h > 0) decode_window(file, info, window, 1, resampler);
  }
};

Decoder::Decoder(DecodeOptions options) {
  options.limits.validate();
  if (!options.bands.numbers.empty() && !options.pixels.empty())
    throw Error(ErrorKind::kUsage, "colours can be changed where there are colours, not bands");
  state_ = std::make_unique<State>(std::move(options));
}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

void Decoder::decode(Bytes file, const Augment& augment, SampleRandom random,
                     std::span<std::uint8_t> out, const ImageInfo& known) {
  const CropRequest crop{augment, state_->options.pixels, random, out};
  decode(file, std::span(&crop, 1), known);
}

void Decoder::decode(Bytes file, std::span<const CropRequest> crops, const ImageInfo& known) {
  for (const CropRequest& crop : crops) state_->check_room(crop);
  const ImageInfo info = state_->header_of(file, known);
  state_->make(file, info, crops);
  if (!state_->shape.is_rgb()) return;
  for (const CropRequest& crop : crops)
    apply(crop.pixels, crop.random, output_size(crop.augment).width, crop.out);
}

EncodedSample Decoder::leave_encoded(Bytes file, const Augment& augment, SampleRandom random,
                                     std::span<std::uint8_t> out, const ImageInfo& known) {
  const ImageInfo info = state_->header_of(file, known);
  const bool upright = !state_->options.apply_orientation || !info.turn().any();
  if (info.kind != ImageKind::kJpeg || !upright || !state_->shape.is_rgb() ||
      !state_->options.pixels.empty())
    return {};
  const int width = static_cast<int>(info.width), height = static_cast<int>(info.height);
  EncodedSample sample{
      .width = width, .height = height, .plan = plan_crop(augment, width, height, random)};
  CropPlan& plan = sample.plan;
  if (plan.w <= 0 || plan.h <= 0) return {};
  const JpegTask task{file, info, {plan.x, plan.y, plan.w, plan.h}};
  Bytes jpeg = file;
  if (const auto slice = slice_jpeg(task, state_->pixels)) {
    jpeg = slice->task.file;
    sample.width = static_cast<int>(slice->task.info.width);
    sample.height = static_cast<int>(slice->task.info.height);
    plan.x = slice->task.window.x;
    plan.y = slice->task.window.y;
  }
  if (jpeg.size() > out.size()) return {};
  std::memcpy(out.data(), jpeg.data(), jpeg.size());
  sample.bytes = static_cast<std::uint32_t>(jpeg.size());
  return sample;
}

void Decoder::decode_left(Bytes jpeg, const EncodedSample& sample, ImageSize size,
                          std::span<std::uint8_t> out) {
  const ImageInfo info = state_->header_of(jpeg, {});
  const Window window =
      state_->resampler.prepare(sample.plan, Turn(), size, sample.width, sample.height);
  state_->resampler.write_to(out.data(), static_cast<std::size_t>(size.width) * kChannels);
  if (window.w > 0 && window.h > 0) {
    state_->decode_window(jpeg, info, window, 1, state_->resampler);
  }
}

ImageInfo Decoder::header(Bytes file, const ImageInfo& known) const {
  ImageInfo info = state_->header_of(file, known);
  if (!state_->options.apply_orientation || !info.turn().any()) info.orientation = 1;
  return info;
}

void Decoder::draw(Bytes file, const ImageInfo& info, const Placement& placement, bool is_tile,
                   const DrawTarget& to) {
  if (placement.shown.empty()) return;
  const Window seen = seen_window(placement, to.size);
  if (seen.w <= 0 || seen.h <= 0) return;
  const std::size_t pixel = bytes_of_pixel();
  const std::size_t stride = static_cast<std::size_t>(to.size.width) * pixel;
  if (placement.warp.keeps_axes()) {
    return state_->scale(file, info, placement, seen,
                         to.pixels.data() + static_cast<std::size_t>(seen.y) * stride +
                             static_cast<std::size_t>(seen.x) * pixel,
                         stride);
  }
  const TwoSteps steps = two_steps(placement, seen);
  const Window& part = steps.part;
  if (part.w <= 0 || part.h <= 0) return;
  const std::size_t row = static_cast<std::size_t>(part.w) * pixel;
  std::uint8_t* canvas = state_->canvas.reserve(row * static_cast<std::size_t>(part.h));
  state_->scale(file, info, steps.first, part, canvas, row);
  warp({{canvas, part.w, part.h, row}, part.x, part.y, steps.extent}, steps.inverse,
       is_tile ? Beyond::kNeighbour : Beyond::kBackground, seen, to.pixels.data(), stride,
       state_->shape);
}

void Decoder::decode_full(Bytes file, std::vector<std::uint8_t>& out, int& width, int& height,
                          const ImageInfo& known) {
  const ImageInfo info = state_->header_of(file, known);
  const Turn turn = state_->turn_for(info);
  const Window all{0, 0, static_cast<int>(info.width), static_cast<int>(info.height)};
  const std::size_t pixels = std::size_t{info.width} * info.height;
  const std::uint64_t most = state_->options.limits.decoded_bytes;
  if (!state_->shape.is_rgb() && pixels > most / bytes_of_pixel())
    throw Error(ErrorKind::kUnsupported,
                "its bands take more than " + std::to_string(most) + " bytes as floats");
  out.resize(pixels * bytes_of_pixel());
  UprightWriter writer(turn, all.w, all.h, out.data(), state_->shape);
  state_->decode_window(file, info, all, 1, writer);
  width = turn.swap ? all.h : all.w;
  height = turn.swap ? all.w : all.h;
}

std::size_t Decoder::bytes_of_pixel() const { return state_->shape.bytes(); }

DecodeCounters Decoder::counters() const {
  DecodeCounters counters;
  for (const auto& decoder : state_->jpeg_decoders) decoder->count(counters);
  return counters;
}

std::size_t Decoder::kept_bytes() const {
  std::size_t bytes =
      state_->pixels.capacity() + state_->canvas.capacity() + state_->resampler.kept_bytes();
  for (const Resampler& other : state_->others) bytes += other.kept_bytes();
  for (const auto& decoder : state_->jpeg_decoders) bytes += decoder->kept_bytes();
  return bytes;
}

}  // namespace packhorse::reader

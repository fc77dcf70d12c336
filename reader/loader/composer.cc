#include "loader/composer.h"

#include <algorithm>
#include <utility>

#include "packhorse/reader/mix.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse::reader {

namespace {

// Random streams: one for each purpose.
constexpr std::uint64_t kPartners = 0x706172, kPaste = 0x706173, kMix = 0x6d6978,
                        kChoice = 0x63686f;

bool happens(double probability, SampleRandom random) { return random.uniform(0, 1) < probability; }

/// Copies the pixels inside of a mask, of `bytes` each.
void copy_inside(std::span<const std::uint32_t> mask, ImageSize size, std::size_t bytes,
                 std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
  const auto height = static_cast<std::size_t>(size.height);
  const auto width = static_cast<std::size_t>(size.width);
  std::size_t at = 0;
  for (std::size_t i = 0; i < mask.size(); at += mask[i++]) {
    for (std::size_t p = at; i % 2 != 0 && p < at + mask[i]; ++p) {
      const std::size_t pixel = (p % height * width + p / height) * bytes;
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(pixel), bytes,
                  to.begin() + static_cast<std::ptrdiff_t>(pixel));
    }
  }
}

/// Pixels of bands, as floats.
std::span<float> bands_in(std::span<std::uint8_t> pixels) {
  return {reinterpret_cast<float*>(pixels.data()), pixels.size() / sizeof(float)};
}

std::span<const std::uint32_t> mask_of(const Objects& objects, std::size_t i) {
  return std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
}

/// Only the object's own columns of those that add_objects() made.
void keep_object(const Objects& objects, std::size_t i, Objects& to) {
  Objects one;
  one.boxes = {objects.boxes[i]};
  one.labels = {objects.labels[i]};
  one.flags = {objects.flags[i]};
  one.areas = {objects.areas[i]};
  const auto mask = mask_of(objects, i);
  one.counts.assign(mask.begin(), mask.end());
  one.polygons = {0, 0};
  one.points = {0};
  one.runs = {0, static_cast<std::uint32_t>(mask.size())};
  one.keypoints_each = objects.keypoints_each;
  const std::size_t each = objects.keypoints_each.empty() ? 0 : objects.keypoints_each.front();
  const auto first = objects.keypoints.begin() + static_cast<std::ptrdiff_t>(i * each);
  one.keypoints.assign(first, first + static_cast<std::ptrdiff_t>(each));
  append(one, to);
}

}  // namespace

Composer::Composer(const Dataset& dataset, const LoaderOptions& options,
                   const TargetsReader* targets, Decoder& decoder, StageEnd stage_end)
    : dataset_(dataset),
      options_(options),
      augment_(std::get<DetectionAugment>(options.augment)),
      reader_(targets),
      decoder_(decoder),
      stage_end_(std::move(stage_end)),
      single_(augment_) {
  single_.mosaic.probability = 0;
}

Composer::Parts Composer::choose(SampleRandom random, std::uint64_t sample, bool alone) const {
  if (alone) return {.base = {random, {sample}}, .alone = true};
  SampleRandom partners = random.stream(kPartners);
  const auto others = [&] {
    return static_cast<std::uint64_t>(partners.integer(static_cast<std::int64_t>(dataset_.size())));
  };
  const auto layer = [&](SampleRandom own, std::uint64_t first, const DetectionAugment& augment) {
    Layer made{own, {first}};
    const std::size_t pictures = pictures_of(augment, own);
    while (made.samples.size() < pictures) made.samples.push_back(others());
    return made;
  };
  Parts parts{.base = layer(random, sample, augment_)};
  if (happens(augment_.copy_paste.probability, random.stream(kPaste)))
    parts.pasted = layer(random.stream(kPaste + 1), others(), single_);
  if (happens(augment_.mixup.probability, random.stream(kMix)))
    parts.mixed = layer(random.stream(kMix + 1), others(), augment_);
  return parts;
}

void Composer::draw(Parts& parts, std::span<std::uint8_t> pixels, PlacedTargets& targets) {
  draw(parts.base, parts.alone ? single_ : augment_, pixels, targets);
  if (parts.pasted) paste(*parts.pasted, pixels, targets);
  if (parts.mixed) mix(*parts.mixed, pixels, targets);
  if (options_.decode) apply(options_.pixels, parts.base.random, augment_.size.width, pixels);
}

void Composer::draw(Layer& layer, const DetectionAugment& augment, std::span<std::uint8_t> pixels,
                    PlacedTargets& targets) {
  clear(targets, reader_ == nullptr ? kIgnoredLabel : reader_->ignored());
  if (options_.decode) fill_background(pixels);
  for (std::size_t i = 0; i < layer.samples.size(); ++i) {
    current_ = &layer.samples[i];
    draw_picture(layer, i, augment, pixels, targets);
  }
}

void Composer::fill_background(std::span<std::uint8_t> pixels) const {
  if (!options_.bands) return fill(pixels, augment_.background);
  std::ranges::fill(bands_in(pixels), static_cast<float>(augment_.background[0]) / 255.F);
}

void Composer::draw_picture(const Layer& layer, std::size_t number, const DetectionAugment& augment,
                            std::span<std::uint8_t> pixels, PlacedTargets& targets) {
  const std::uint64_t sample = layer.samples[number];
  const Clock::time_point begin = Clock::now();
  const BytesLease lease = dataset_.view(sample, bytes_);
  const Bytes bytes = lease.bytes;
  const Clock::time_point read = Clock::now();
  stage_end_(Stage::kRead, begin, read, bytes.size());
  if (!options_.decode) return;
  const ImageInfo info = decoder_.header(bytes, dataset_.image(sample));
  const StoredTargets stored =
      reader_ == nullptr ? StoredTargets{} : reader_->read(sample, info, field_);
  const auto width = static_cast<int>(info.upright_width());
  const auto height = static_cast<int>(info.upright_height());
  const PicturePlan plan = plan_picture(augment, layer.random, number, width, height,
                                        upright_boxes(stored.objects, info));
  decoder_.draw(bytes, info, plan.placement, plan.is_tile, {pixels, augment.size});
  if (reader_ != nullptr)
    add_targets(stored, info, plan, augment.size, options_.targets.value(), targets);
  dataset_.check_whole(sample);
  stage_end_(Stage::kDecode, read, Clock::now(), 0);
}

void Composer::draw_beside(Layer& layer, const DetectionAugment& augment,
                           const PlacedTargets& like) {
  const auto pixels = static_cast<std::size_t>(augment_.size.height) *
                      static_cast<std::size_t>(augment_.size.width);
  layer_pixels_.resize(pixels * decoder_.bytes_of_pixel());
  layer_mask_.resize(like.mask.size());
  layer_targets_.mask = layer_mask_;
  draw(layer, augment, layer_pixels_, layer_targets_);
}

void Composer::paste(Layer& layer, std::span<std::uint8_t> pixels, PlacedTargets& targets) {
  draw_beside(layer, single_, targets);
  if (!options_.decode) return;
  const Objects& others = layer_targets_.objects;
  SampleRandom choice = layer.random.stream(kChoice);
  std::vector<RunLengths> covers;
  Objects pasted;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto mask = mask_of(others, i);
    if (!happens(.5, choice.stream(i)) || mask.empty()) continue;
    keep_object(others, i, pasted);
    covers.emplace_back(mask.begin(), mask.end());
  }
  const RunLengths cover = merge_masks(std::move(covers));
  if (cover.empty()) return;
  copy_inside(cover, augment_.size, decoder_.bytes_of_pixel(), layer_pixels_, pixels);
  if (!targets.mask.empty()) copy_inside(cover, augment_.size, 1, layer_mask_, targets.mask);
  cover_objects(targets.objects, cover, augment_.size);
  append(pasted, targets.objects);
}

void Composer::mix(Layer& layer, std::span<std::uint8_t> pixels, PlacedTargets& targets) {
  draw_beside(layer, augment_, targets);
  if (!options_.decode) return;
  SampleRandom draws = layer.random.stream(kChoice);
  const double lambda = draw_beta(augment_.mixup.alpha, draws);
  if (options_.bands) {
    blend(bands_in(pixels), bands_in(layer_pixels_), lambda);
  } else {
    blend(pixels, layer_pixels_, lambda);
  }
  append(layer_targets_.objects, targets.objects);
  add_words(layer_targets_.classes, layer_targets_.caption, targets);
}

}  // namespace packhorse::reader

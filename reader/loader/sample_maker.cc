#include "loader/sample_maker.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kViewSalt = 0x76696577;  // "view": keeps views apart
constexpr std::uint64_t kHookSalt = 0x686f6f6b;  // "hook"

std::size_t pixels_in(const ImageSize& size) {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
}

}  // namespace

std::size_t pixels_of_image(const LoaderOptions& options) {
  return pixels_in(output_size(options.augment));
}

std::size_t channels_of(const BandChoice& bands) {
  return bands.numbers.empty() ? 3 : bands.numbers.size();
}

std::vector<ViewPlace> view_places(const LoaderOptions& options, const BandChoice& bands) {
  std::vector<ViewPlace> places;
  std::size_t end = 0;
  const auto add = [&](const Augment& augment) {
    const ImageSize size = output_size(augment);
    places.push_back(
        {size, end, pixels_in(size) * channels_of(bands) * size_of(options.format.type)});
    end = bytes_of_slot(places, options.batch_size);
  };
  add(options.augment);
  for (const View& view : options.more_views) add(view.augment);
  return places;
}

std::size_t bytes_of_slot(const std::vector<ViewPlace>& views, std::int64_t batch_size) {
  return views.back().offset + views.back().image_bytes * static_cast<std::size_t>(batch_size);
}

std::size_t places_left_encoded(const LoaderOptions& options) {
  return static_cast<std::size_t>(options.encoded_share * static_cast<double>(options.batch_size));
}

SampleMaker::SampleMaker(const Shared& shared, ReplaceBeside replace_beside)
    : dataset_(shared.dataset),
      options_(shared.options),
      writer_(shared.writer),
      targets_(shared.targets),
      fields_(shared.fields),
      replace_beside_(std::move(replace_beside)),
      views_(shared.views),
      encoded_places_(places_left_encoded(options_)),
      decoder_({.apply_orientation = options_.apply_orientation,
                .scaled_dct = options_.scaled_dct,
                .pixels = options_.pixels,
                .bands = shared.bands,
                .limits = options_.limits}) {
  std::size_t pixels = 0;
  for (const ViewPlace& view : views_) pixels += pixels_in(view.size);
  if (!writer_.is_as_decoded()) pixels_.resize(pixels * decoder_.bytes_of_pixel());
  if (!std::holds_alternative<DetectionAugment>(options_.augment)) return;
  composer_.emplace(dataset_, options_, targets_, decoder_,
                    [this](Stage stage, Clock::time_point begin, Clock::time_point end,
                           std::uint64_t bytes) { stage_end(stage, begin, end, bytes); });
}

void SampleMaker::make(Ring::Slot& slot, std::size_t place, Draw draw, std::uint64_t epoch) {
  const SampleRandom random(options_.seed, epoch, draw.sample, draw.occurrence);
  slot.samples[place] = draw.sample;
  if (composer_) {
    compose(slot, place, draw.sample, random, epoch);
  } else {
    read_and_make(slot, place, draw.sample, random);
  }
  if (fields_ != nullptr) read_fields(slot, place, draw.sample);
}

void SampleMaker::read_fields(Ring::Slot& slot, std::size_t place, std::uint64_t sample) {
  const Clock::time_point begin = Clock::now();
  fields_->read(sample, place, slot.fields, field_);
  dataset_.check_whole(sample);
  stage_end(Stage::kRead, begin, Clock::now(), 0);
}

void SampleMaker::leave_out(Ring::Slot& slot, std::size_t place) const {
  slot.samples[place] = kLeftOut;
  slot.labels[place] = -1;
  for (std::size_t view = 0; view < views_.size(); ++view)
    std::ranges::fill(pixels_of(slot, place, view), std::uint8_t{0});
  if (!slot.encoded.empty()) slot.encoded[place] = {};
  if (targets_ != nullptr) clear(slot.places[place], targets_->ignored());
  if (fields_ != nullptr) fields_->leave_out(place, slot.fields);
}

void SampleMaker::add_to(LoaderCounters& total) const {
  total.bytes += bytes_read_;
  total.read_ns += read_ns_;
  total.decode_ns += decode_ns_;
}

void SampleMaker::read_and_make(Ring::Slot& slot, std::size_t place, std::uint64_t sample,
                                SampleRandom random) {
  const Clock::time_point begin = Clock::now();
  const BytesLease lease = dataset_.view(sample, bytes_);
  const Bytes bytes = lease.bytes;
  const Clock::time_point read = Clock::now();
  stage_end(Stage::kRead, begin, read, bytes.size());
  slot.labels[place] = dataset_.label(sample);  // its index may be truncated, too: checked below
  if (!options_.decode) return;
  make_pixels(slot, place, sample, random, bytes);
  if (targets_ != nullptr) place_targets(slot.places[place], sample, random, bytes);
  dataset_.check_whole(sample);
  stage_end(Stage::kDecode, read, Clock::now(), 0);
}

void SampleMaker::make_pixels(Ring::Slot& slot, std::size_t place, std::uint64_t sample,
                              SampleRandom random, Bytes bytes) {
  const std::span out = pixels_of(slot, place);
  const ImageInfo known = dataset_.image(sample);
  if (!slot.encoded.empty()) {
    slot.encoded[place] = {};
    if (place < encoded_places_) {
      slot.encoded[place] = decoder_.leave_encoded(bytes, options_.augment, random, out, known);
      if (slot.encoded[place].bytes > 0) return;
    }
  }
  crops_.clear();
  std::span<std::uint8_t> decoded = pixels_;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const Augment& augment = v == 0 ? options_.augment : options_.more_views[v - 1].augment;
    const PixelSteps& pixels = v == 0 ? options_.pixels : options_.more_views[v - 1].pixels;
    const std::size_t size = pixels_in(views_[v].size) * decoder_.bytes_of_pixel();
    crops_.push_back({augment, pixels, v == 0 ? random : random.stream(kViewSalt + v),
                      writer_.is_as_decoded() ? pixels_of(slot, place, v) : decoded.first(size)});
    if (!writer_.is_as_decoded()) decoded = decoded.subspan(size);
  }
  decoder_.decode(bytes, crops_, known);
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const CropRequest& crop = crops_[v];
    if (options_.sample_hook) call_hook(slot, place, views_[v].size, crop.random, crop.out);
    if (!writer_.is_as_decoded()) writer_.write(crop.out, pixels_of(slot, place, v));
  }
}

void SampleMaker::call_hook(const Ring::Slot& slot, std::size_t place, ImageSize size,
                            SampleRandom random, std::span<std::uint8_t> pixels) const {
  const std::size_t bytes_of_pixel = decoder_.bytes_of_pixel();
  const bool floats = options_.bands.has_value();
  options_.sample_hook({.pixels = pixels,
                        .size = size,
                        .channels = static_cast<int>(bytes_of_pixel / (floats ? sizeof(float) : 1)),
                        .floats = floats,
                        .label = slot.labels[place],
                        .sample = slot.samples[place],
                        .seed = random.stream(kHookSalt).next()});
}

void SampleMaker::place_targets(PlacedTargets& to, std::uint64_t sample, SampleRandom random,
                                Bytes bytes) {
  clear(to, targets_->ignored());
  const ImageInfo info = decoder_.header(bytes, dataset_.image(sample));
  const StoredTargets stored = targets_->read(sample, info, field_);
  const CropPlan crop = plan_crop(options_.augment, static_cast<int>(info.upright_width()),
                                  static_cast<int>(info.upright_height()), random);
  const ImageSize size = output_size(options_.augment);
  add_targets(stored, info, {.placement = placement_of(crop, size)}, size, *options_.targets, to);
}

/// Draws a sample of one picture or several. Another takes the place of a bad one beside it.
void SampleMaker::compose(Ring::Slot& slot, std::size_t place, std::uint64_t sample,
                          SampleRandom random, std::uint64_t epoch) {
  const std::span out = pixels_of(slot, place);
  const std::span pixels = writer_.is_as_decoded() ? out : std::span(pixels_);
  PlacedTargets& targets = targets_ != nullptr ? slot.places[place] : none_;
  slot.labels[place] = dataset_.label(sample);
  const bool alone = options_.close_mosaic_from && epoch >= *options_.close_mosaic_from;
  Composer::Parts parts = composer_->choose(random, sample, alone);
  for (int attempt = 0;; ++attempt) {
    try {
      composer_->draw(parts, pixels, targets);
      break;
    } catch (const Error& error) {
      std::uint64_t& failed = composer_->current();
      if (&failed == &parts.base.samples.front()) throw;
      failed = replace_beside_(failed, attempt, error);
    }
  }
  if (!options_.decode) return;
  if (options_.sample_hook) call_hook(slot, place, views_.front().size, random, pixels);
  if (!writer_.is_as_decoded()) writer_.write(pixels, out);
}

std::span<std::uint8_t> SampleMaker::pixels_of(Ring::Slot& slot, std::size_t place,
                                               std::size_t view) const {
  const ViewPlace& of = views_[view];
  return {slot.images.get() + of.offset + place * of.image_bytes, of.image_bytes};
}

/// Counts a stage of the work on a sample.
void SampleMaker::stage_end(Stage stage, Clock::time_point begin, Clock::time_point end,
                            std::uint64_t bytes) {
  add(stage == Stage::kRead ? read_ns_ : decode_ns_, ns_between(begin, end));
  add(bytes_read_, bytes);
  if (options_.observer) options_.observer(stage, begin, end);
}

}  // namespace packhorse::reader

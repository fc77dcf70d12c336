#include "inspect/tile.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <set>

#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "codecs/band_rows.h"
#include "dataset/shard_index.h"
#include "drawing/draw_objects.h"
#include "inspect/sample_words.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/decode.h"

namespace packhorse::inspect {

namespace {

/// Scales a picture to fit into the tile's square.
cv::Mat fitted(const cv::Mat& picture, int side) {
  const int longest = std::max(picture.cols, picture.rows);
  cv::Mat out;
  if (longest * 2 <= side) {
    const int times = side / longest;
    cv::resize(picture, out, {}, times, times, cv::INTER_NEAREST);
  } else if (longest <= side) {
    out = picture.clone();
  } else {
    const auto scaled = [&](int n) {
      return std::max(1, static_cast<int>((std::int64_t{n} * side + longest / 2) / longest));
    };
    cv::resize(picture, out, {scaled(picture.cols), scaled(picture.rows)}, 0, 0, cv::INTER_AREA);
  }
  return out;
}

/// Makes tiles and reuses its buffers from one to the next. One thread.
class TileMaker {
 public:
  /// `side` 0: pictures keep their size.
  TileMaker(const PackedDataset& dataset, int side, const ImageLimits& limits)
      : dataset_(dataset),
        side_(side),
        target_(objects_target(dataset)),
        mask_(find_target(dataset, kMaskTarget)),
        words_(dataset),
        limits_(limits),
        decoder_({.limits = limits}) {}

  Tile make(std::size_t sample) {
    Tile tile = described(sample);
    const ImageInfo image = dataset_.image(sample);
    dataset_.read(sample, bytes_);
    show(tile, image);
    const cv::Mat rgb(tile.height, tile.width, CV_8UC3, pixels_.data());
    cv::Mat picture;
    cv::cvtColor(side_ > 0 ? fitted(rgb, side_) : rgb, picture, cv::COLOR_RGB2BGR);
    tile.caption = words_.read(sample);
    if (mask_) add_mask(tile, picture);
    if (target_) add_objects(tile, image, picture);
    tile.picture = picture;
    return tile;
  }

  /// The same, with damage as part of the tile.
  Tile make_or_say_why_not(std::size_t sample) {
    try {
      return make(sample);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
      Tile tile = described(sample);
      tile.damage = error.what();
      return tile;
    }
  }

 private:
  /// Decodes the sample into `pixels_`, as RGB.
  void show(Tile& tile, const ImageInfo& image) {
    if (image.kind != ImageKind::kRaw) {
      const ProbeResult found = probe_image(bytes_, limits_.of_packed());
      // Where the bands are a TIFF's pages, the first page may have colours.
      const bool colours = found.info && found.info->components == image.components &&
                           why_no_colours(found.layout).empty();
      if (found.info && !colours) return show_bands(tile, image);
    }
    decoder_.decode_full(bytes_, pixels_, tile.width, tile.height, image);
  }

  void show_bands(Tile& tile, const ImageInfo& image) {
    const BandLayout all = band_layout(bytes_, packed_header(bytes_, image, limits_));
    tile.bands = all.bands < 3 ? std::vector<int>{0} : std::vector<int>{0, 1, 2};
    reader::Decoder decoder(
        {.bands = {.numbers = tile.bands, .bits = all.bits}, .limits = limits_});
    decoder.decode_full(bytes_, floats_, tile.width, tile.height, image);
    const std::size_t bands = tile.bands.size(), count = floats_.size() / sizeof(float);
    const auto number = [&](std::size_t i) {
      float value;
      std::memcpy(&value, floats_.data() + i * sizeof value, sizeof value);
      return value;
    };
    pixels_.resize(count / bands * 3);
    for (std::size_t band = 0; band < bands; ++band) {
      float least = std::numeric_limits<float>::max(), most = -least;
      for (std::size_t i = band; i < count; i += bands) {
        if (!std::isfinite(number(i))) continue;
        least = std::min(least, number(i));
        most = std::max(most, number(i));
      }
      const double range = double{most} - least;
      for (std::size_t i = band; i < count; i += bands) {
        const double part = range > 0 && std::isfinite(number(i)) ? (number(i) - least) / range : 0;
        const auto level = static_cast<std::uint8_t>(std::lround(255 * part));
        std::uint8_t* to = pixels_.data() + i / bands * 3 + band;
        std::fill_n(to, bands == 1 ? 3 : 1, level);
      }
    }
  }

  Tile described(std::size_t sample) const {
    const PackedDataset::Place at = dataset_.place(sample);
    const auto held = dataset_.index(at.shard);
    const ShardIndex& index = *held;
    Tile tile;
    tile.sample = sample;
    tile.key = index.key(at.row);
    tile.label = index.label(at.row);
    return tile;
  }

  void add_mask(Tile& tile, cv::Mat& picture) {
    if (!dataset_.read_field(tile.sample, mask_->field, bytes_)) return;
    const ImageInfo image = dataset_.image(tile.sample);
    const LabelImage mask = decode_label_image(bytes_, image.width, image.height);
    std::set<std::size_t> seen;
    draw_labels(picture, mask, image, mask_->record.ignore.value_or(kIgnoredLabel), seen);
    tile.pixel_labels.assign(seen.begin(), seen.end());
  }

  void add_objects(Tile& tile, const ImageInfo& image, cv::Mat& picture) {
    const Objects objects = read_objects(dataset_, *target_, tile.sample, bytes_);
    const bool swap = image.orientation >= 5 && image.orientation <= 8;
    const auto width = static_cast<std::uint32_t>(swap ? tile.height : tile.width);
    const auto height = static_cast<std::uint32_t>(swap ? tile.width : tile.height);
    if (width != image.width || height != image.height)
      throw Error(ErrorKind::kCorrupt, "the image has another size than the index says");
    drawing::draw_objects(picture, objects, image, [&](std::size_t i) {
      return target_->record.classes[static_cast<std::size_t>(objects.labels[i])];
    });
    tile.objects = objects.size();
    const std::set<std::size_t> labels(objects.labels.begin(), objects.labels.end());
    tile.object_labels.assign(labels.begin(), labels.end());
  }

  const PackedDataset& dataset_;
  int side_;
  std::optional<ObjectsTarget> target_;
  std::optional<FieldTarget> mask_;
  SampleWords words_;
  ImageLimits limits_;
  reader::Decoder decoder_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint8_t> pixels_, floats_;
};

}  // namespace

std::string bands_text(const std::vector<int>& bands) {
  return bands.size() == 1 ? "band 0" : "bands 0, 1 and 2";
}

std::vector<Tile> make_tiles(const PackedDataset& dataset, std::span<const std::size_t> samples,
                             int side, const Request& request) {
  std::vector<Tile> tiles(samples.size());
  std::atomic<std::size_t> next{0};
  const int jobs = request.jobs > 0 ? request.jobs : available_cpus();
  run_parallel(jobs, std::min(static_cast<std::size_t>(jobs), samples.size()), [&](std::size_t) {
    TileMaker maker(dataset, side, request.limits);
    for (std::size_t i = next++; i < samples.size(); i = next++) {
      obey_stop();
      tiles[i] = maker.make_or_say_why_not(samples[i]);
    }
  });
  return tiles;
}

Tile make_picture(const PackedDataset& dataset, std::size_t sample, const ImageLimits& limits) {
  return TileMaker(dataset, 0, limits).make(sample);
}

}  // namespace packhorse::inspect

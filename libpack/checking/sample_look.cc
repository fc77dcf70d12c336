#include "checking/sample_look.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/printable.h"
#include "base/text.h"
#include "codecs/colour_rows.h"
#include "codecs/described_image.h"
#include "codecs/image_header.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/objects.h"

namespace packhorse {

namespace {

constexpr std::uint32_t kLeastSide = 8;
constexpr std::uint64_t kManyPixels = 50'000'000;
constexpr float kLeastObject = 2;
/// Levels by which the pixels of one colour may differ: a JPEG rounds.
constexpr int kOneColour = 3;

/// The kind that an extension promises; kUnknown for others.
ImageKind kind_of_extension(std::string_view path) {
  const std::string_view name = naming::last_name(path);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return ImageKind::kUnknown;
  const std::string extension = lower_case(name.substr(dot));
  static constexpr std::pair<std::string_view, ImageKind> kOthers[] = {
      {".jpeg", ImageKind::kJpeg}, {".jpe", ImageKind::kJpeg},  {".jfif", ImageKind::kJpeg},
      {".tif", ImageKind::kTiff},  {".tiff", ImageKind::kTiff}, {".heif", ImageKind::kHeic}};
  for (const auto& [other, kind] : kOthers)
    if (other == extension) return kind;
  for (int kind = 1; kind <= static_cast<int>(kLastImageKind); ++kind) {
    const auto one = static_cast<ImageKind>(kind);
    if (one != ImageKind::kRaw && one != ImageKind::kPnm && extension_of(one) == extension)
      return one;
  }
  return ImageKind::kUnknown;
}

/// Hands on the rows of a picture, and sees whether they are of one colour.
class ColourWatch : public ColourRows {
 public:
  explicit ColourWatch(std::unique_ptr<ColourRows> rows) : rows_(std::move(rows)) {
    width = rows_->width;
    height = rows_->height;
    channels = rows_->channels;
    samples_per_pixel = rows_->samples_per_pixel;
  }
  const std::uint8_t* next_row() override {
    const std::uint8_t* const row = rows_->next_row();
    ++rows_taken_;
    transparent = rows_->transparent;
    const std::uint8_t* level = row;
    for (int x = 0; x < width && one_colour_; ++x)
      for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c, ++level) add(c, *level);
    return row;
  }
  /// Takes the rest of the rows, as long as it is not known.
  bool is_of_one_colour() {
    while (one_colour_ && rows_taken_ < height) next_row();
    return one_colour_;
  }

  bool is_transparent() {
    while (!transparent && rows_taken_ < height) next_row();
    return transparent;
  }

 private:
  void add(std::size_t channel, int level) {
    least_[channel] = std::min(least_[channel], level);
    most_[channel] = std::max(most_[channel], level);
    if (most_[channel] - least_[channel] > kOneColour) one_colour_ = false;
  }
  std::unique_ptr<ColourRows> rows_;
  int rows_taken_ = 0;
  bool one_colour_ = true;
  std::array<int, 3> least_{255, 255, 255}, most_{};
};

/// Whether object i has a corner that lies more than a pixel outside its box.
bool leaves_box(const Objects& objects, std::size_t i) {
  if (objects.polygons.empty()) return false;
  const Box& box = objects.boxes[i];
  constexpr double kPixel = 1;
  for (std::uint32_t p = objects.points[objects.polygons[i]];
       p < objects.points[objects.polygons[i + 1]]; ++p) {
    const Point& point = objects.outlines[p];
    if (point.x < box.left - kPixel || point.x > box.right + kPixel || point.y < box.top - kPixel ||
        point.y > box.bottom + kPixel)
      return true;
  }
  return false;
}

bool has_same_twice(const Objects& objects) {
  std::vector<std::size_t> order(objects.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) {
    const Box& box = objects.boxes[i];
    return std::tuple(objects.labels[i], box.left, box.top, box.right, box.bottom);
  };
  std::ranges::sort(order, {}, key);
  return std::ranges::adjacent_find(order, {}, key) != order.end();
}

}  // namespace

std::string shown_path(const SplitListing& split, std::size_t entry) {
  const std::string& prefix = split.prefix();
  return printable((prefix.empty() ? "" : prefix + '/') + split.entries.path_of(entry));
}

void SampleTotals::add(const SampleTotals& other) {
  looked_at += other.looked_at;
  decoded += other.decoded;
  failed += other.failed;
  objects += other.objects;
  for (std::size_t i = 0; i < other.objects_of_class.size(); ++i)
    objects_of_class.at(i) += other.objects_of_class[i];
}

SampleLook::SampleLook(const Source& source, const Listing& listing, std::uint32_t split,
                       const PackOptions& options, bool heads_alone, FindingLog& log)
    : split_number_(split),
      split_(listing.splits[split]),
      options_(options),
      log_(log),
      preparer_(source, split_, listing, options, heads_alone) {
  for (const TargetRecord& target : listing.targets)
    if (target.kind == kObjectsTarget) target_ = &target;
  if (target_ != nullptr) totals.objects_of_class.resize(target_->classes.size());
}

void SampleLook::look(std::size_t entry) {
  preparer_.prepare(item_, entry);
  const std::string path = shown_path(split_, entry);
  ++totals.looked_at;
  if (options_.decode) ++totals.decoded;
  if (!item_.problem.empty()) {
    log_.add(rule_of(item_.problem.code), path, item_.problem.text);
  } else {
    seen.push_back(
        {item_.hash, item_.stored.size(), split_number_, static_cast<std::uint32_t>(entry)});
    look_at_image(path);
    if (target_ != nullptr) look_at_objects(path);
    if (options_.decode) look_at_pixels(path, entry);
  }
  item_.shrink();
}

void SampleLook::decode(std::size_t entry) {
  preparer_.prepare(item_, entry);
  if (item_.problem.empty()) {
    const std::string path = shown_path(split_, entry);
    ++totals.decoded;
    try {
      decode_strictly(item_.stored, item_.image);
      look_at_pixels(path, entry);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      const bool unsupported = error.kind() == ErrorKind::kUnsupported;
      const Problem why = problem_of(error, unsupported ? Reason::kUnsupported : Reason::kDamaged);
      ++totals.failed;
      log_.add(rule_of(why.code), path, why.text);
    }
  }
  item_.shrink();
}

void SampleLook::look_at_image(const std::string& path) {
  const ImageInfo& image = item_.image;
  if (std::min(image.width, image.height) < kLeastSide)
    log_.add("PH122", path, std::to_string(image.width) + " x " + std::to_string(image.height));
  if (std::uint64_t{image.width} * image.height > kManyPixels)
    log_.add("PH123", path, std::to_string(image.width) + " x " + std::to_string(image.height));
  if (image.turn().any() && !(item_.turned && item_.objects > 0)) log_.add("PH201", path);
  if (image.kind == ImageKind::kRaw) return;
  const ImageKind promised = kind_of_extension(path);
  if (promised != ImageKind::kUnknown && promised != image.kind)
    log_.add("PH120", path, "it is " + std::string(name_of(image.kind)));
  if (options_.limits.bands) return;
  if (item_.layout.bits == 16) log_.add("PH202", path);
  if (item_.layout.model == ColourModel::kCmyk) log_.add("PH204", path);
}

void SampleLook::look_at_objects(const std::string& path) {
  const auto made = std::ranges::find(item_.made, target_->name, &PackItem::Made::name);
  if (made == item_.made.end()) return;
  const Objects objects = decode_objects(made->bytes);
  totals.objects += objects.size();
  if (objects.size() == 0) return log_.add("PH603", path);
  if (item_.turned) log_.add("PH607", path);
  if (has_same_twice(objects)) log_.add("PH605", path);
  const auto width = static_cast<float>(item_.image.width);
  const auto height = static_cast<float>(item_.image.height);
  bool tiny = false, whole = false, leaves = false;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto label = static_cast<std::size_t>(objects.labels[i]);
    if (label < totals.objects_of_class.size()) ++totals.objects_of_class[label];
    const Box& box = objects.boxes[i];
    const float w = box.right - box.left, h = box.bottom - box.top;
    tiny = tiny || std::min(w, h) < kLeastObject;
    whole = whole || (w >= width - 1 && h >= height - 1);
    leaves = leaves || leaves_box(objects, i);
  }
  if (tiny) log_.add("PH604", path);
  if (whole) log_.add("PH606", path);
  if (leaves) log_.add("PH609", path);
}

void SampleLook::look_at_pixels(const std::string& path, std::size_t entry) {
  if (options_.limits.bands) return;
  const int eighths = decode_eighths(item_.image, kThumbnailSide, kThumbnailSide);
  const bool alpha = item_.layout.alpha != Alpha::kNone;
  ColourWatch rows(open_colours(item_.stored, item_.image, {.eighths = eighths}));
  if (options_.decode)
    if (const auto hashes = picture_hashes(rows, item_.image))
      pictures.push_back({*hashes, split_number_, static_cast<std::uint32_t>(entry)});
  if (rows.is_of_one_colour()) log_.add("PH121", path);
  if (alpha && rows.is_transparent()) log_.add("PH203", path);
}

}  // namespace packhorse

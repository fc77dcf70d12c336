#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "base/paths.h"
#include "base/printable.h"
#include "codecs/encode.h"
#include "image/npy.h"
#include "labels/label_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/arrays/array_files.h"
#include "sources/arrays/array_labels.h"
#include "sources/kinds.h"
#include "sources/layout/layout.h"
#include "sources/payload_source.h"

namespace packhorse::arrays {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNames =
    "name images 'images' or 'x' and labels 'labels' or 'y', with the split: train_images, "
    "train_labels, ...";

/// The images of one split, and their labels.
struct ImageArray {
  std::string split;
  StoredArray labels;
  std::uint64_t array = 0;  ///< locator of the array in the Payloads
  std::uint64_t count = 0;
  ImageInfo image;          ///< kRaw, of each; of 8 or 16 bits
  bool planes = false;      ///< stored as [N, channels, height, width]
  std::uint64_t first = 0;  ///< locator of the first image: they are numbered through all splits
  std::int64_t stamp = 0;   ///< of the files
};

std::size_t sample_bytes(const ImageInfo& image) { return image.bit_depth / 8u; }

class ArraysSource final : public PayloadSource {
 public:
  explicit ArraysSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    refuse_folder_options(options, path_);
    refuse_unused(options);
    payloads_.emplace(options.scratch);
    Listing listing;
    find_images(open_arrays(files(), *payloads_), listing);
    std::vector<ArrayLabels> labels;
    LabelNames names(options.classes);
    for (const ImageArray& images : images_) {
      labels.emplace_back(images.labels, *payloads_, path_);
      labels.back().for_each([&](std::uint64_t, const std::string& text) { names.add(text); });
    }
    names.finish();
    listing.classes = names.classes();
    listing.notes.insert(listing.notes.end(), names.notes().begin(), names.notes().end());
    for (std::size_t i = 0; i < images_.size(); ++i)
      listing.splits.push_back(list_split(images_[i], labels[i], names, options.memory));
    naming::refuse_empty(listing, path_, kNames);
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Facts facts = split.entries.facts(i);
    const ImageArray& images = array_of(facts);
    thread_local std::vector<std::byte> pixels;
    pixels.resize(facts.size);
    payloads_->read_part(images.array, (facts.locator - images.first) * facts.size, pixels);
    if (images.planes) interleave(images.image, pixels);
    encode_png(images.image, pixels, out.bytes);
    out.image = {};
    out.fields = 0;
  }

  bool prefetch(const SplitListing& split, std::size_t i) const override {
    const EntryTable::Facts facts = split.entries.facts(i);
    const ImageArray& images = array_of(facts);
    payloads_->prefetch_part(images.array, (facts.locator - images.first) * facts.size, facts.size);
    return true;
  }

 private:
  void refuse_unused(const ListOptions& options) const {
    if (!options.labels.empty()) {
      throw Error(ErrorKind::kUsage, "arrays have their own labels", path_,
                  "leave out `labels=`; `classes=` gives them names");
    }
    if (options.fields.names && !options.fields.names->empty())
      throw Error(ErrorKind::kUsage, "arrays have no extra fields", path_, "leave out `fields=`");
  }

  std::vector<fs::path> files() const {
    if (!fs::is_directory(path_)) return {path_};
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : entries_in(path_)) {
      const std::string name = entry.path().filename();
      if (!naming::passed_over(name) && has_array_name(name)) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const {
    throw Error(ErrorKind::kUnsupported, what, path_, advice);
  }

  [[noreturn]] void refuse(const StoredArray& array, const std::string& what,
                           const std::string& advice) const {
    refuse(fmt::format("the array '{}' {}", printable(array.name), what), advice);
  }

  /// Pairs images with labels, split by split, and notes what is neither.
  void find_images(std::vector<StoredArray> all, Listing& listing) {
    std::map<std::string, std::array<std::vector<StoredArray>, 2>> splits;  // images, labels
    std::vector<std::string> others;
    for (StoredArray& array : all) {
      const ArrayName name = parse_array_name(array.name);
      if (name.role == ArrayName::Role::kNone) {
        others.push_back(array.name);
        continue;
      }
      if (name.unclear) refuse(array, "names two splits", kNames);
      splits[name.split][name.role == ArrayName::Role::kImages ? 0 : 1].push_back(std::move(array));
    }
    if (splits.empty()) refuse("no array in it is named as images or labels", kNames);
    for (auto& [split, found] : splits) add_split(split, found[0], found[1]);
    if (images_.size() > 1 && images_.front().split.empty())
      refuse("some of its arrays name a split, and some do not", kNames);
    if (!others.empty())
      listing.notes.push_back("neither images nor labels, and left out: the arrays " +
                              naming::quoted(others));
  }

  void add_split(const std::string& split, const std::vector<StoredArray>& images,
                 const std::vector<StoredArray>& labels) {
    const std::string where = split.empty() ? "" : " for '" + split + "'";
    if (images.size() != 1 || labels.size() != 1) {
      refuse(fmt::format("it holds {} arrays of images and {} of labels{}, where one of each is "
                         "needed",
                         images.size(), labels.size(), where),
             labels.empty()
                 ? "give the file or folder that holds the labels too; " + std::string(kNames)
                 : kNames);
    }
    const std::string a = parse_array_name(images[0].name).rest;
    const std::string b = parse_array_name(labels[0].name).rest;
    if (a != b) {
      refuse(fmt::format("'{}' and '{}' do not seem to belong together", printable(images[0].name),
                         printable(labels[0].name)),
             "give both the same name apart from 'images' and 'labels'");
    }
    ImageArray made = described(images[0]);
    made.split = split;
    made.labels = labels[0];
    made.stamp = mix_stamp(payloads_->stamp(images[0].file),
                           static_cast<std::uint64_t>(payloads_->stamp(labels[0].file)));
    if (made.labels.rows() != made.count) {
      refuse(made.labels,
             fmt::format("has {} values for {} images", made.labels.rows(), made.count),
             "make both arrays equally long");
    }
    made.array = payloads_->add(images[0].file, images[0].place);
    made.first = images_.empty() ? 0 : images_.back().first + images_.back().count;
    images_.push_back(std::move(made));
  }

  ImageArray described(const StoredArray& array) const {
    const std::vector<std::uint64_t>& shape = array.shape;
    const bool wide = array.type == "<u2";
    if (array.type != "|u1" && !wide) {
      refuse(array,
             "holds values of type " + printable(array.type) +
                 ", where pixels must be uint8 or uint16 with the low byte first",
             array.type == ">u2"
                 ? "convert it: x.astype('<u2')"
                 : "convert it, e.g. (x * 255).round().astype('uint8') for values from 0 to 1");
    }
    if (array.fortran_order)
      refuse(array, "is in Fortran order", "save numpy.ascontiguousarray(x) instead");
    if (shape.size() != 3 && shape.size() != 4) {
      refuse(array, "has the shape of " + array.description(),
             "reshape it to (images, height, width) or (images, height, width, 3)");
    }
    const auto is_channels = [](std::uint64_t n) { return n == 1 || n == 3; };
    const bool last = shape.size() == 3 || is_channels(shape[3]);
    const bool second = shape.size() == 4 && is_channels(shape[1]);
    // Images a pixel or three wide are far less likely than a channel axis in an unusual place.
    const bool odd = shape.size() == 3 && (is_channels(shape[1]) || is_channels(shape[2]));
    if ((last && second) || odd) {
      refuse(array,
             "has the shape of " + array.description() +
                 ", and either its second or its last axis may be the channels",
             "write the images to files, and pack those");
    }
    if (!last && !second) {
      refuse(array, "has the shape of " + array.description() + ", without 1 or 3 channels",
             "keep the channels that are wanted, or write the images to files, and pack those");
    }
    ImageArray images;
    images.planes = second;
    images.count = shape[0];
    const std::uint64_t height = second ? shape[2] : shape[1];
    const std::uint64_t width = second ? shape[3] : shape[2];
    const std::uint64_t channels = shape.size() == 3 ? 1 : second ? shape[1] : shape[3];
    constexpr std::uint64_t kLongest = 1'000'000;
    if (height == 0 || width == 0 || height > kLongest || width > kLongest)
      refuse(array, "has the shape of " + array.description(), "no image can have this size");
    images.image = {ImageKind::kRaw,
                    static_cast<std::uint8_t>(channels),
                    static_cast<std::uint8_t>(wide ? 16 : 8),
                    1,
                    static_cast<std::uint32_t>(width),
                    static_cast<std::uint32_t>(height)};
    return images;
  }

  const ImageArray& array_of(const EntryTable::Facts& facts) const {
    return *std::ranges::find_if(images_, [&](const ImageArray& array) {
      return facts.locator - array.first < array.count;
    });
  }

  static SplitListing list_split(const ImageArray& images, const ArrayLabels& labels,
                                 const LabelNames& names,
                                 const std::shared_ptr<EntryMemory>& memory) {
    SplitListing split;
    split.split = images.split;
    split.entries = EntryTable(memory);
    const std::uint64_t size = pixel_bytes(images.image) * sample_bytes(images.image);
    labels.for_each([&](std::uint64_t i, const std::string& text) {
      const std::string name = fmt::format("{:09}.png", i);
      Problem problem;
      const std::optional<std::int64_t> label = names.label(text, problem);
      if (!label) {
        split.rejects.push_back({name, problem});
        return;
      }
      split.entries.add(
          names.classes()[static_cast<std::size_t>(*label)], name,
          {.size = size, .stamp = images.stamp, .locator = images.first + i, .label = *label});
    });
    return split;
  }

  /// [channels, height, width] -> [height, width, channels].
  static void interleave(const ImageInfo& image, std::vector<std::byte>& pixels) {
    thread_local std::vector<std::byte> planes;
    planes.swap(pixels);
    pixels.resize(planes.size());
    const std::size_t plane = std::size_t{image.width} * image.height, bytes = sample_bytes(image);
    for (std::size_t channel = 0; channel < image.components; ++channel) {
      for (std::size_t i = 0; i < plane; ++i)
        std::memcpy(pixels.data() + (i * image.components + channel) * bytes,
                    planes.data() + (channel * plane + i) * bytes, bytes);
    }
  }

  fs::path path_;
  std::vector<ImageArray> images_;
};

/// Whether a folder holds files of arrays, and neither folders nor images.
bool is_folder_of_arrays(const fs::path& path, FolderLook& look) {
  bool found = false, other = false;
  look.look_in(path, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    if (naming::passed_over(name) != nullptr) return true;
    std::error_code code;
    other = entry.is_directory(code) || naming::has_any_image_name(name);
    found = found || has_array_name(name);
    return !other;
  });
  return found && !other;
}

}  // namespace

bool probe(const fs::path& path, FolderLook& look) {
  if (is_file(path)) return has_array_name(path);
  return is_folder(path) && is_folder_of_arrays(path, look);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<ArraysSource>(path); }

}  // namespace packhorse::arrays

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/file.h"
#include "base/paths.h"
#include "formats/hdf5/foreign_layout.h"
#include "formats/hdf5/global_heap.h"
#include "formats/hdf5/inner_objects.h"
#include "formats/hdf5/layout.h"
#include "formats/kinds.h"
#include "labels/shard_labels.h"
#include "packhorse/dataset/sample.h"

namespace packhorse::hdf5 {

namespace fs = std::filesystem;

namespace {

constexpr int kForeignVersion = 1;
constexpr const char* kPackFiles = "write the images to files, and pack those";

/// The objects that must be closed under the lock.
struct Arrays {
  explicit Arrays(File opened) : file(std::move(opened)) {}
  File file;
  std::optional<Column> images;
};

class Hdf5Shard final : public ForeignShard {
 public:
  Hdf5Shard(const fs::path& path, const ForeignOptions& options)
      : path_(path), fd_(open_for_reading(path)), file_bytes_(file_size(fd_.get(), path)) {
    const Session session;
    try {
      open(options);
    } catch (...) {
      arrays_.reset();
      throw;
    }
  }

  ~Hdf5Shard() override {
    const Session session;
    arrays_.reset();
  }

  std::string layout() const override {
    return kind_ == Kind::kArrays ? "arrays" : kind_ == Kind::kVlen ? "vlen" : "flat";
  }
  std::size_t size() const override { return ranges_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<Reject>& rejects() const override { return rejects_; }
  const std::vector<Skip>& skips() const override { return skips_; }

  FoundSample found(std::size_t i) override {
    FoundSample sample;
    sample.key = keys_.empty() ? key_of(i) : keys_[i];
    sample.image = ranges_[i];
    sample.pixels = pixels_;
    if (!labels_.empty() && !labels_[i].empty()) {
      ShardLabel label = label_in_cls(labels_[i]);
      sample.label = std::move(label.text);
      sample.problem = std::move(label.problem);
    }
    if (sample.image.length == 0) sample.problem = {Reason::kEmptyFile, "it is empty"};
    if (sample.key.empty()) sample.problem = {Reason::kBadPath, "its key is empty"};
    return sample;
  }

  StoredSample read(std::size_t i) override {
    const Session session;
    if (kind_ == Kind::kVlen) {
      read_sequence(i);
    } else {
      read_slab(i);
    }
    return {keys_.empty() ? key_of(i) : keys_[i], -1, image_, {}};
  }

 private:
  enum class Kind { kArrays, kVlen, kFlat };

  void open(const ForeignOptions& options) {
    arrays_.emplace(open_file(path_));
    const hid_t file = arrays_->file.get();
    const bool no_fields = options.fields.names && options.fields.names->empty();
    if (!no_fields && H5Lexists(file, kFields, H5P_DEFAULT) > 0) {
      throw Error(ErrorKind::kUnsupported, "extra fields in HDF5 files cannot be adopted", path_,
                  "leave them out: `fields=none`");
    }
    std::optional<Column> found = find_column(file, options.arrays.images, kImageNames, path_);
    if (!found) {
      throw Error(ErrorKind::kUnsupported, "no array with a usual name holds images", path_,
                  "name it: `images=NAME`; `h5ls -r FILE` lists the arrays");
    }
    const Column& images = arrays_->images.emplace(std::move(*found));
    if (holds_sequences(images, path_)) {
      kind_ = Kind::kVlen;
      find_sequences(images);
    } else if (holds_bytes(images, path_) && images.axes.size() == 1) {
      kind_ = Kind::kFlat;
      cut_flat(images, options.arrays.offsets);
    } else if (holds_bytes(images, path_) && (images.axes.size() == 4 || images.axes.size() == 3)) {
      kind_ = Kind::kArrays;
      cut_array(images);
    } else {
      refuse(fmt::format("has the shape ({}) and holds {}, where images are bytes of the shape "
                         "(N, height, width, 3) or encoded files, one sequence of bytes for each",
                         fmt::join(images.axes, ", "), type_words(images, path_)),
             "convert it, e.g. (x * 255).round().astype('uint8') for floats from 0 to 1, or " +
                 std::string(kPackFiles));
    }
    if (const auto labels = find_column(file, options.arrays.labels, kLabelNames, path_)) {
      check_size(*labels);
      labels_ = read_texts(*labels, path_);
    }
    if (const auto keys = find_column(file, options.arrays.keys, kKeyNames, path_)) {
      check_size(*keys);
      keys_ = read_texts(*keys, path_);
    }
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const {
    throw Error(ErrorKind::kUnsupported, "the array '" + arrays_->images->name + "' " + what, path_,
                advice);
  }

  [[noreturn]] void corrupt(const std::string& what) const {
    throw Error(ErrorKind::kCorrupt, "damaged HDF5: " + what, path_);
  }

  /// Checks a size before it is read, so that a nonsense size takes no memory.
  void check_size(const Column& column) const {
    if (column.size() == size()) return;
    throw Error(ErrorKind::kCorrupt,
                "the array '" + column.name + "' has " + std::to_string(column.size()) +
                    " values for " + std::to_string(size()) + " images",
                path_, "name the right array with `images=`, `label_array=` or `keys=`");
  }

  void cut_array(const Column& images) {
    const std::vector<hsize_t>& axes = images.axes;
    const hsize_t channels = axes.size() == 4 ? axes[3] : 1;
    if (axes.size() == 4 && channels != 1 && channels != 3 && (axes[1] == 1 || axes[1] == 3)) {
      refuse(fmt::format("has the shape ({}): each channel is a plane of its own",
                         fmt::join(axes, ", ")),
             "transpose it: x.transpose(0, 2, 3, 1); or save images and labels as .npy files, "
             "which packhorse pack reads (docs/containers.md, Arrays)");
    }
    if (channels != 1 && channels != 3) {
      refuse("has " + std::to_string(channels) +
                 " values on its last axis, where pixels must have their 1 or 3 channels",
             "transpose it to (image, row, column, channel), or write the images to files");
    }
    constexpr hsize_t kLargest = std::numeric_limits<std::int32_t>::max();
    if (axes[1] == 0 || axes[2] == 0 || axes[1] > kLargest || axes[2] > kLargest)
      refuse("has images without pixels", kPackFiles);
    const std::uint64_t begin = begin_of(images, path_);
    const std::uint64_t image_bytes = axes[1] * axes[2] * channels;
    if (begin > file_bytes_ || axes[0] > (file_bytes_ - begin) / image_bytes)
      corrupt("the images lie outside the file");
    pixels_ = {ImageKind::kRaw,
               static_cast<std::uint8_t>(channels),
               8,
               1,
               static_cast<std::uint32_t>(axes[2]),
               static_cast<std::uint32_t>(axes[1])};
    for (hsize_t i = 0; i < axes[0]; ++i) ranges_.push_back({begin + i * image_bytes, image_bytes});
  }

  /// Cuts the data at the offsets, which are where images begin; with one more offset than images,
  /// the last is where the data end.
  void cut_flat(const Column& images, const std::string& given) {
    const auto column = find_column(arrays_->file.get(), given, kOffsetNames, path_);
    if (!column) {
      refuse("is a flat array of bytes, and no array says where in it each image begins",
             "name the array of offsets: `offsets=NAME`; `h5ls -r FILE` lists the arrays");
    }
    if (column->size() > file_bytes_) corrupt("more offsets than the file has bytes");
    const std::uint64_t begin = begin_of(images, path_), total = images.size();
    if (begin > file_bytes_ || total > file_bytes_ - begin)
      corrupt("the images lie outside the file");
    std::vector<std::int64_t> offsets = read_integers(*column, path_);
    const bool sorted = std::ranges::is_sorted(offsets);
    if (!sorted || (!offsets.empty() &&
                    (offsets.front() < 0 || static_cast<std::uint64_t>(offsets.back()) > total))) {
      corrupt("the offsets do not match the data");
    }
    const auto end = static_cast<std::int64_t>(total);
    if (offsets.empty() || offsets.back() != end) offsets.push_back(end);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      ranges_.push_back({begin + static_cast<std::uint64_t>(offsets[i]),
                         static_cast<std::uint64_t>(offsets[i + 1] - offsets[i])});
    }
    data_begin_ = begin;
  }

  void find_sequences(const Column& images) try {
    if (images.axes.size() != 1) refuse("has more than one value per sample", kPackFiles);
    const Properties made(H5Fget_create_plist(arrays_->file.get()), "inspect", path_);
    std::size_t address_bytes = 0, length_bytes = 0;
    hsize_t base = 0;
    check(H5Pget_sizes(made.get(), &address_bytes, &length_bytes), "inspect", path_);
    check(H5Pget_userblock(made.get(), &base), "inspect", path_);
    if (address_bytes != 8 || length_bytes != 8)
      refuse("is in a file with addresses of an unusual size", kPackFiles);
    if (base != 0 && H5D_CHUNKED == layout_of(images, path_))
      refuse("is stored in chunks behind a user block, which HDF5 versions locate differently",
             "remove the user block with h5unjam");
    if (images.size() > file_bytes_ / kReferenceBytes)
      corrupt("more images than the file has room for");
    const auto read = [this](std::uint64_t offset, std::span<std::byte> out) {
      read_exactly(fd_.get(), offset, out, path_);
    };
    GlobalHeap heap(base, file_bytes_, read);
    ranges_.assign(images.size(), {});
    for (const ReferencePiece& piece : pieces_of(images, path_)) {
      if (piece.offset > file_bytes_ ||
          piece.elements > (file_bytes_ - piece.offset) / kReferenceBytes)
        corrupt("an array lies outside the file");
      std::array<std::byte, kReferenceBytes> bytes{};
      for (std::uint64_t i = 0; i < piece.elements; ++i) {
        read(piece.offset + i * kReferenceBytes, bytes);
        const HeapReference reference = parse_reference(bytes);
        if (reference.length > 0) ranges_[piece.first + i] = heap.find(reference);
      }
    }
  } catch (const Error& error) {
    if (!error.path().empty()) throw;
    throw Error(error.kind(), error.what(), path_);
  }

  void read_slab(std::size_t i) {
    const Column& images = *arrays_->images;
    std::vector<hsize_t> start(images.axes.size(), 0), count = images.axes;
    start[0] = kind_ == Kind::kFlat ? ranges_[i].offset - data_begin_ : i;
    count[0] = kind_ == Kind::kFlat ? ranges_[i].length : 1;
    hsize_t bytes = ranges_[i].length;
    image_.resize(bytes);
    if (bytes == 0) return;
    const Space from(H5Dget_space(images.dataset.get()), "read", path_);
    check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          "select in", path_);
    const Space to(H5Screate_simple(1, &bytes, nullptr), "read", path_);
    check(H5Dread(images.dataset.get(), H5T_NATIVE_UINT8, to.get(), from.get(), H5P_DEFAULT,
                  image_.data()),
          "read", path_);
  }

  void read_sequence(std::size_t i) {
    const Column& images = *arrays_->images;
    const hsize_t start = i, count = 1;
    const Type type(H5Tvlen_create(H5T_NATIVE_UINT8), "read", path_);
    const Space from(H5Dget_space(images.dataset.get()), "read", path_);
    const Space to(H5Screate_simple(1, &count, nullptr), "read", path_);
    check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
          "select in", path_);
    hvl_t value{};
    check(H5Dread(images.dataset.get(), type.get(), to.get(), from.get(), H5P_DEFAULT, &value),
          "read", path_);
    const auto* const bytes = static_cast<const std::byte*>(value.p);
    image_.assign(bytes, bytes + value.len);
    H5Dvlen_reclaim(type.get(), to.get(), H5P_DEFAULT, &value);
  }

  fs::path path_;
  UniqueFd fd_;
  std::uint64_t file_bytes_;
  std::optional<Arrays> arrays_;
  Kind kind_ = Kind::kArrays;
  ImageInfo pixels_;
  std::uint64_t data_begin_ = 0;
  std::vector<ByteRange> ranges_;
  std::vector<std::string> labels_, keys_;  ///< empty: the file has none
  std::vector<std::string> fields_;
  std::vector<Reject> rejects_;
  std::vector<Skip> skips_;
  std::vector<std::byte> image_;
};

/// Looks for the signature at the start, or after a user block of 512, 1024, 2048, ... bytes.
std::optional<fs::path> find_shard(const fs::path& named) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (!is_file(named)) return std::nullopt;
  const UniqueFd fd = open_for_reading(named);
  const std::uint64_t size = file_size(fd.get(), named);
  std::byte found[kSignature.size()];
  for (std::uint64_t at = 0; at < size && size - at >= sizeof found; at = at == 0 ? 512 : 2 * at) {
    read_exactly(fd.get(), at, found, named);
    if (as_text(found) == kSignature) return named;
  }
  return std::nullopt;
}

std::unique_ptr<ForeignShard> open_shard(const fs::path& path, const ForeignOptions& options) {
  return std::make_unique<Hdf5Shard>(path, options);
}

}  // namespace

const ForeignFormat kForeignFormat = {
    .name = "hdf5-any",
    .summary = "HDF5 of any writer: arrays of pixels, vlen bytes, flat bytes with offsets",
    .version = kForeignVersion,
    .find = find_shard,
    .open = open_shard,
};

}  // namespace packhorse::hdf5

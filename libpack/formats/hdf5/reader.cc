#include <algorithm>
#include <optional>

#include "base/file.h"
#include "formats/hdf5/handles.h"
#include "formats/hdf5/inner_objects.h"
#include "formats/hdf5/layout.h"
#include "formats/kinds.h"

namespace packhorse::hdf5 {

namespace {

[[noreturn]] void corrupt(const char* what, const std::filesystem::path& path) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged HDF5: ") + what, path);
}

/// Lengths of all axes.
std::vector<hsize_t> extents(const Dataset& dataset, const std::filesystem::path& path) {
  const Space space(H5Dget_space(dataset.get()), "read", path);
  const int axes = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> lengths(axes > 0 ? static_cast<std::size_t>(axes) : 0);
  H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr);
  return lengths;
}

std::size_t length(const Dataset& dataset, const std::filesystem::path& path) {
  const std::vector<hsize_t> lengths = extents(dataset, path);
  if (lengths.size() != 1) corrupt("a column is not one-dimensional", path);
  return lengths.front();
}

template <class T>
std::vector<T> read_column(hid_t parent, const char* name, hid_t type,
                           const std::filesystem::path& path) {
  const Dataset dataset = open_dataset(parent, name, path);
  std::vector<T> values(length(dataset, path));
  check(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read", path);
  return values;
}

/// Bytes of many samples in one dataset: the images, or a field.
class Blob {
 public:
  /// Opens a group of data and offsets for `samples` samples.
  static Blob open_group(hid_t file, const std::string& name, std::size_t samples,
                         const std::filesystem::path& path) {
    const Group group = hdf5::open_group(file, name, path);
    Blob blob(open_dataset(group.get(), kData, path));
    blob.offsets_ = read_column<std::uint64_t>(group.get(), kOffsets, H5T_NATIVE_UINT64, path);
    if (blob.offsets_.size() != samples + 1 || blob.offsets_.front() != 0 ||
        !std::ranges::is_sorted(blob.offsets_) || blob.offsets_.back() > length(blob.data_, path)) {
      corrupt("the offsets do not match the data or the labels", path);
    }
    return blob;
  }

  /// Opens a dataset whose first axis counts the samples.
  static Blob open_array(Dataset data, std::size_t samples, const std::filesystem::path& path) {
    Blob blob(std::move(data));
    blob.axes_ = extents(blob.data_, path);
    if (blob.axes_.size() != 4 || blob.axes_.front() != samples) {
      corrupt("the images do not match the labels", path);
    }
    return blob;
  }

  void read(std::size_t i, std::vector<std::byte>& out, const std::filesystem::path& path) const {
    std::vector<hsize_t> start, count;
    if (axes_.empty()) {
      start = {offsets_[i]};
      count = {offsets_[i + 1] - offsets_[i]};
    } else {
      start = {i, 0, 0, 0};
      count = {1, axes_[1], axes_[2], axes_[3]};
    }
    hsize_t bytes = 1;
    for (const hsize_t n : count) bytes *= n;
    out.resize(bytes);
    if (bytes == 0) return;
    const Space from(H5Dget_space(data_.get()), "read", path);
    check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr),
          "select in", path);
    const Space to(H5Screate_simple(1, &bytes, nullptr), "read", path);
    check(H5Dread(data_.get(), H5T_NATIVE_UINT8, to.get(), from.get(), H5P_DEFAULT, out.data()),
          "read", path);
  }

 private:
  explicit Blob(Dataset data) : data_(std::move(data)) {}
  Dataset data_;
  std::vector<std::uint64_t> offsets_;
  std::vector<hsize_t> axes_;  ///< empty: by offsets
};

struct FieldBlob {
  std::string name;
  Blob data;
  std::vector<std::uint8_t> present;
  std::vector<std::byte> buffer;
};

/// The objects that must be closed under the lock.
struct Contents {
  explicit Contents(File opened) : file(std::move(opened)) {}
  File file;
  std::optional<Blob> images;
  std::vector<FieldBlob> fields;
};

class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {
    const Session session;
    try {
      open();
    } catch (...) {
      contents_.reset();
      throw;
    }
  }

  ~Reader() override {
    const Session session;
    contents_.reset();
  }

  std::size_t size() const override { return labels_.size(); }

  StoredSample read(std::size_t i) override {
    const Session session;
    contents_->images->read(i, image_, path_);
    StoredSample sample;
    sample.key = keys_.substr(i * key_width_, key_width_);
    sample.key.erase(sample.key.find_last_not_of('\0') + 1);
    sample.label = labels_[i];
    sample.bytes = image_;
    for (FieldBlob& field : contents_->fields) {
      if (field.present[i] == 0) continue;
      field.data.read(i, field.buffer, path_);
      sample.fields.push_back({field.name, field.buffer});
    }
    return sample;
  }

 private:
  void open() {
    contents_.emplace(open_file(path_));
    const hid_t file = contents_->file.get();
    labels_ = read_column<std::int64_t>(file, kLabels, H5T_NATIVE_INT64, path_);
    read_keys(file);
    auto array = find_dataset(file, kImages, path_);  // nothing for a group
    contents_->images.emplace(array ? Blob::open_array(std::move(*array), size(), path_)
                                    : Blob::open_group(file, kImages, size(), path_));
    if (H5Lexists(file, kFields, H5P_DEFAULT) > 0) open_fields(file);
  }

  void open_fields(hid_t file) {
    const Group group = hdf5::open_group(file, kFields, path_);
    H5G_info_t info{};
    check(H5Gget_info(group.get(), &info), "read", path_);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const auto name_of = [&](char* out, std::size_t room) {
        return H5Lget_name_by_idx(group.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, out, room,
                                  H5P_DEFAULT);
      };
      const ssize_t size_of_name = name_of(nullptr, 0);
      if (size_of_name < 0) corrupt("a field has no name", path_);
      std::string name(static_cast<std::size_t>(size_of_name), '\0');
      name_of(name.data(), name.size() + 1);
      const std::string place = std::string(kFields) + "/" + name;
      std::vector<std::uint8_t> present = read_column<std::uint8_t>(
          file, (place + "/" + kPresent).c_str(), H5T_NATIVE_UINT8, path_);
      if (present.size() != size()) corrupt("a field does not match the labels", path_);
      contents_->fields.push_back(
          {std::move(name), Blob::open_group(file, place, size(), path_), std::move(present), {}});
    }
  }

  void read_keys(hid_t file) {
    const Dataset dataset = open_dataset(file, kKeys, path_);
    const Type type(H5Dget_type(dataset.get()), "read", path_);
    key_width_ = H5Tget_size(type.get());
    keys_.resize(length(dataset, path_) * key_width_);
    check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, keys_.data()), "read",
          path_);
    if (keys_.size() != labels_.size() * key_width_)
      corrupt("the keys do not match the labels", path_);
  }

  std::filesystem::path path_;
  std::optional<Contents> contents_;
  std::vector<std::int64_t> labels_;
  std::string keys_;
  std::size_t key_width_ = 0;
  std::vector<std::byte> image_;
};

std::string version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
}

const Format kFormat = {
    .name = "hdf5",
    .file_suffix = kSuffix,
    .summary = "HDF5 with flat bytes and offsets, read by h5py and any HDF5 binding",
    .compressed_suffix = {},
    .version = kVersion,
    .carries_fields = true,
    .sample_overhead = 256,
    .field_overhead = 64,
    .open_writer = open_writer,
    .open_reader = open_reader,
    .library_version = version,
};

}  // namespace packhorse::hdf5

#include <algorithm>

#include "formats/hdf5/handles.h"
#include "formats/hdf5/hdf5.h"
#include "formats/hdf5/layout.h"
#include "formats/hdf5/open.h"
#include "packhorse/file.h"

namespace packhorse::hdf5 {

namespace {

class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {
    const Session session;
    handles_ = std::make_unique<Handles>(path);
    offsets_ = column<std::uint64_t>(kOffsets, H5T_NATIVE_UINT64);
    labels_ = column<std::int64_t>(kLabels, H5T_NATIVE_INT64);
    read_keys();
    if (offsets_.size() != labels_.size() + 1 || offsets_.front() != 0 ||
        !std::is_sorted(offsets_.begin(), offsets_.end())) {
      throw Error(ErrorKind::kCorrupt, "damaged HDF5: the offsets do not fit the labels", path_);
    }
  }

  ~Reader() override {
    const Session session;
    handles_.reset();
  }

  std::size_t size() const override { return labels_.size(); }

  StoredSample read(std::size_t i) override {
    const Session session;
    const hsize_t start = offsets_[i];
    const hsize_t count = offsets_[i + 1] - start;
    const Space from(H5Dget_space(handles_->data.get()), "read", path_);
    check(H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
          "select in", path_);
    const Space to(H5Screate_simple(1, &count, nullptr), "read", path_);
    buffer_.resize(count);
    check(H5Dread(handles_->data.get(), H5T_NATIVE_UINT8, to.get(), from.get(), H5P_DEFAULT,
                  buffer_.data()),
          "read", path_);
    std::string key = keys_.substr(i * key_width_, key_width_);
    key.erase(key.find_last_not_of('\0') + 1);
    return {std::move(key), labels_[i], buffer_};
  }

 private:
  struct Handles {
    explicit Handles(const std::filesystem::path& path)
        : file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", path),
          data(H5Dopen2(file.get(), kData, H5P_DEFAULT), "find the images in", path) {}
    File file;
    Dataset data;
  };

  std::size_t extent(const Dataset& dataset) const {
    const Space space(H5Dget_space(dataset.get()), "read", path_);
    hsize_t n = 0;
    if (H5Sget_simple_extent_ndims(space.get()) != 1) {
      throw Error(ErrorKind::kCorrupt, "damaged HDF5: a column is not one-dimensional", path_);
    }
    H5Sget_simple_extent_dims(space.get(), &n, nullptr);
    return n;
  }

  template <class T>
  std::vector<T> column(const char* name, hid_t type) const {
    const Dataset dataset(H5Dopen2(handles_->file.get(), name, H5P_DEFAULT), "find a column in",
                          path_);
    std::vector<T> values(extent(dataset));
    check(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read",
          path_);
    return values;
  }

  void read_keys() {
    const Dataset dataset(H5Dopen2(handles_->file.get(), kKeys, H5P_DEFAULT), "find the keys in",
                          path_);
    const Type type(H5Dget_type(dataset.get()), "read", path_);
    key_width_ = H5Tget_size(type.get());
    keys_.resize(extent(dataset) * key_width_);
    check(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, keys_.data()), "read",
          path_);
    if (keys_.size() != labels_.size() * key_width_) {
      throw Error(ErrorKind::kCorrupt, "damaged HDF5: the keys do not fit the labels", path_);
    }
  }

  std::filesystem::path path_;
  std::unique_ptr<Handles> handles_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::int64_t> labels_;
  std::string keys_;
  std::size_t key_width_ = 0;
  std::vector<std::byte> buffer_;
};

bool probe(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  if (file_size(fd.get(), path) < 8) return false;
  std::byte magic[8];
  read_exactly(fd.get(), 0, magic, path);
  return as_text(magic) == "\x89HDF\r\n\x1a\n";
}

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
    "hdf5",      kSuffix,  "HDF5 with flat bytes and offsets, read by h5py and any HDF5 binding",
    {},          kVersion, false,
    256,         probe,    open_writer,
    open_reader, version,
};

}  // namespace packhorse::hdf5

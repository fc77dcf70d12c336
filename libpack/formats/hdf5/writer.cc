#include <sys/stat.h>

#include <algorithm>

#include "formats/hdf5/handles.h"
#include "formats/hdf5/layout.h"
#include "formats/hdf5/open.h"
#include "formats/key_order.h"
#include "packhorse/file.h"

namespace packhorse::hdf5 {

namespace {

namespace fs = std::filesystem;

struct Columns {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::int64_t> labels;
  std::string keys;  ///< all of `key_width` characters
  std::size_t key_width = 1;
  std::size_t size() const { return labels.size(); }
};

Properties creation_properties(hid_t kind, const fs::path& path) {
  Properties properties(H5Pcreate(kind), "set up", path);
  check(H5Pset_obj_track_times(properties.get(), false), "set up", path);  // same input, same bytes
  return properties;
}

Type fixed_string(std::size_t width, H5T_cset_t characters, const fs::path& path) {
  Type type(H5Tcopy(H5T_C_S1), "make a string type for", path);
  check(H5Tset_size(type.get(), std::max<std::size_t>(width, 1)), "make a string type for", path);
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "make a string type for", path);
  check(H5Tset_cset(type.get(), characters), "make a string type for", path);
  return type;
}

Space line(std::size_t n, const fs::path& path) {
  const hsize_t extent = n;
  return Space(H5Screate_simple(1, &extent, nullptr), "make a dataspace for", path);
}

void write_column(hid_t file, const char* name, hid_t type, hid_t memory_type, std::size_t n,
                  const void* values, const fs::path& path) {
  const Properties properties = creation_properties(H5P_DATASET_CREATE, path);
  const Space space = line(n, path);
  const Dataset dataset(
      H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      "create a dataset in", path);
  check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write", path);
}

void write_classes(hid_t file, const std::vector<std::string>& classes, const fs::path& path) {
  if (classes.empty()) return;
  std::size_t width = 1;
  for (const std::string& name : classes) width = std::max(width, name.size());
  std::string padded;
  for (const std::string& name : classes) padded += name + std::string(width - name.size(), '\0');
  const Type type = fixed_string(width, H5T_CSET_UTF8, path);
  const Space space = line(classes.size(), path);
  const Attribute attribute(
      H5Acreate2(file, kClasses, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      "write the class names to", path);
  check(H5Awrite(attribute.get(), type.get(), padded.data()), "write the class names to", path);
}

/// Lets HDF5 write the whole shard to `path` but for the bytes of /images/data, which stay a hole,
/// and returns where that hole begins. Its place depends on nothing but the order of the calls
/// below: the data is the first object with storage.
std::uint64_t lay_out(const fs::path& path, const Columns& columns,
                      const std::vector<std::string>& classes) {
  const Session session;
  std::uint64_t hole = 0;
  {
    Properties access(H5Pcreate(H5P_FILE_ACCESS), "set up", path);
    check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set up", path);
    check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "set up", path);
    check(H5Pset_small_data_block_size(access.get(), 0), "set up", path);
    const Properties creation = creation_properties(H5P_FILE_CREATE, path);
    const File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "create",
                    path);
    const Properties group_properties = creation_properties(H5P_GROUP_CREATE, path);
    const Group images(
        H5Gcreate2(file.get(), kImages, H5P_DEFAULT, group_properties.get(), H5P_DEFAULT),
        "create a group in", path);
    {
      const Properties properties = creation_properties(H5P_DATASET_CREATE, path);
      check(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "set up", path);
      check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "set up", path);
      check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "set up", path);
      const Space space = line(columns.offsets.back(), path);
      const Dataset data(H5Dcreate2(file.get(), kData, H5T_STD_U8LE, space.get(), H5P_DEFAULT,
                                    properties.get(), H5P_DEFAULT),
                         "create a dataset in", path);
      const haddr_t offset = H5Dget_offset(data.get());
      if (offset == HADDR_UNDEF) throw Error(ErrorKind::kIo, "HDF5 gave the images no place", path);
      hole = offset;
    }
    write_column(file.get(), kOffsets, H5T_STD_U64LE, H5T_NATIVE_UINT64, columns.offsets.size(),
                 columns.offsets.data(), path);
    write_column(file.get(), kLabels, H5T_STD_I64LE, H5T_NATIVE_INT64, columns.size(),
                 columns.labels.data(), path);
    const Type key = fixed_string(columns.key_width, H5T_CSET_ASCII, path);
    write_column(file.get(), kKeys, key.get(), key.get(), columns.size(), columns.keys.data(),
                 path);
    write_classes(file.get(), classes, path);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "write", path);
  }
  return hole;
}

class Writer final : public ShardWriter {
 public:
  Writer(const fs::path& path, const ShardSpec& spec)
      : path_(path), sketch_(path.native() + ".sketch.tmp"), spec_(spec), file_(path) {
    Columns one;
    one.offsets.push_back(1);
    one.labels.push_back(0);
    one.keys = "0";
    begin_ = lay_out(sketch_, one, {});
    file_.seek(begin_);
  }

  ~Writer() override {
    std::error_code ignored;
    fs::remove(sketch_, ignored);
  }

  void add(const Sample& sample) override {
    order_.check(sample.key, path_);
    if (columns_.size() > 0 && sample.key.size() != columns_.key_width) {
      throw Error(ErrorKind::kUsage, "keys of one shard must have one length", path_, {},
                  std::string(sample.key));
    }
    file_.write(sample.bytes);
    columns_.key_width = sample.key.size();
    columns_.keys += sample.key;
    columns_.labels.push_back(sample.label);
    columns_.offsets.push_back(columns_.offsets.back() + sample.bytes.size());
  }

  ShardLayout close() override {
    if (lay_out(sketch_, columns_, spec_.classes) != begin_) {
      throw Error(ErrorKind::kUnsupported, "this HDF5 library lays files out in an unexpected way",
                  path_);
    }
    copy_around_hole();
    file_.commit();
    std::vector<ByteRange> ranges;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      ranges.push_back(
          {begin_ + columns_.offsets[i], columns_.offsets[i + 1] - columns_.offsets[i]});
    }
    return {std::move(ranges), {}, {}, {}};
  }

 private:
  void copy_around_hole() {
    const UniqueFd fd = open_for_reading(sketch_);
    const std::uint64_t end = begin_ + columns_.offsets.back();
    const std::uint64_t size = file_size(fd.get(), sketch_);
    std::vector<std::byte> piece(size - end);
    read_exactly(fd.get(), end, piece, sketch_);
    file_.write(piece);
    piece.resize(begin_);
    read_exactly(fd.get(), 0, piece, sketch_);
    file_.seek(0);
    file_.write(piece);
  }

  fs::path path_, sketch_;
  ShardSpec spec_;
  AtomicFile file_;
  Columns columns_;
  std::uint64_t begin_ = 0;
  KeyOrder order_;
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const fs::path& path, const ShardSpec& spec) {
  return std::make_unique<Writer>(path, spec);
}

}  // namespace packhorse::hdf5

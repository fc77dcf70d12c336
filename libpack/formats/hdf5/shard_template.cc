#include "formats/hdf5/shard_template.h"

#include <sys/mman.h>

#include <algorithm>

#include "formats/hdf5/handles.h"
#include "formats/hdf5/layout.h"

namespace packhorse::hdf5 {

namespace {

namespace fs = std::filesystem;

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

Space extent(const std::vector<hsize_t>& axes, const fs::path& path) {
  return Space(H5Screate_simple(static_cast<int>(axes.size()), axes.data(), nullptr),
               "make a dataspace for", path);
}

Group make_group(hid_t parent, const char* name, const fs::path& path) {
  const Properties properties = creation_properties(H5P_GROUP_CREATE, path);
  return Group(H5Gcreate2(parent, name, H5P_DEFAULT, properties.get(), H5P_DEFAULT),
               "create a group in", path);
}

void write_column(hid_t parent, const char* name, hid_t type, hid_t memory_type, std::size_t n,
                  const void* values, const fs::path& path) {
  const Properties properties = creation_properties(H5P_DATASET_CREATE, path);
  const Space space = extent({n}, path);
  const Dataset dataset(
      H5Dcreate2(parent, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      "create a dataset in", path);
  check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write", path);
}

void write_offsets(hid_t parent, const std::vector<std::uint64_t>& offsets, const fs::path& path) {
  write_column(parent, kOffsets, H5T_STD_U64LE, H5T_NATIVE_UINT64, offsets.size(), offsets.data(),
               path);
}

/// Makes a dataset of bytes that gets its place in the file, but is never written. An empty dataset
/// gets no place.
ByteRange make_hole(hid_t parent, const char* name, const std::vector<hsize_t>& axes,
                    const fs::path& path) {
  const Properties properties = creation_properties(H5P_DATASET_CREATE, path);
  check(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "set up", path);
  check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "set up", path);
  check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "set up", path);
  const Space space = extent(axes, path);
  const Dataset data(H5Dcreate2(parent, name, H5T_STD_U8LE, space.get(), H5P_DEFAULT,
                                properties.get(), H5P_DEFAULT),
                     "create a dataset in", path);
  std::uint64_t bytes = 1;
  for (const hsize_t axis : axes) bytes *= axis;
  if (bytes == 0) return {};
  const haddr_t offset = H5Dget_offset(data.get());
  if (offset == HADDR_UNDEF)
    throw Error(ErrorKind::kIo, "HDF5 did not allocate space for the data", path);
  return {offset, bytes};
}

void write_keys(hid_t file, const Columns& columns, const fs::path& path) {
  std::size_t width = 1;
  std::uint64_t begin = 0;
  for (const std::uint64_t end : columns.key_ends) {
    width = std::max<std::size_t>(width, end - begin);
    begin = end;
  }
  const bool even = columns.keys.size() == width * columns.size();  // ours are: no copy needed
  std::string padded;
  padded.reserve(even ? 0 : width * columns.size());
  begin = 0;
  for (const std::uint64_t end : columns.key_ends) {
    if (even) break;
    padded.append(columns.keys, begin, end - begin).append(width - (end - begin), '\0');
    begin = end;
  }
  const Type type = fixed_string(width, H5T_CSET_ASCII, path);
  const std::string& keys = even ? columns.keys : padded;
  write_column(file, kKeys, type.get(), type.get(), columns.size(), keys.data(), path);
}

void write_classes(hid_t file, const std::vector<std::string>& classes, const fs::path& path) {
  if (classes.empty()) return;
  std::size_t width = 1;
  for (const std::string& name : classes) width = std::max(width, name.size());
  std::string padded;
  for (const std::string& name : classes) padded += name + std::string(width - name.size(), '\0');
  const Type type = fixed_string(width, H5T_CSET_UTF8, path);
  const Space space = extent({classes.size()}, path);
  const Attribute attribute(
      H5Acreate2(file, kClasses, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      "write the class names to", path);
  check(H5Awrite(attribute.get(), type.get(), padded.data()), "write the class names to", path);
}

/// Makes the images' hole first, then those of the fields, so that all streamed data lie together.
Places make_holes(hid_t file, const Columns& columns, const fs::path& path) {
  Places places;
  if (columns.raw) {
    const ImageInfo& size = *columns.raw;
    places.images =
        make_hole(file, kImages, {columns.size(), size.height, size.width, size.components}, path);
  } else {
    const Group images = make_group(file, kImages, path);
    places.images = make_hole(images.get(), kData, {columns.offsets.back()}, path);
  }
  if (columns.fields.empty()) return places;
  const Group fields = make_group(file, kFields, path);
  for (const Columns::FieldColumn& field : columns.fields) {
    const Group group = make_group(fields.get(), field.name.c_str(), path);
    places.fields.push_back(make_hole(group.get(), kData, {field.offsets.back()}, path));
  }
  return places;
}

void write_columns(hid_t file, const Columns& columns, const fs::path& path) {
  if (!columns.raw) {
    const Group images(H5Gopen2(file, kImages, H5P_DEFAULT), "open a group of", path);
    write_offsets(images.get(), columns.offsets, path);
  }
  write_column(file, kLabels, H5T_STD_I64LE, H5T_NATIVE_INT64, columns.size(),
               columns.labels.data(), path);
  write_keys(file, columns, path);
  for (const Columns::FieldColumn& field : columns.fields) {
    const std::string name = std::string(kFields) + "/" + field.name;
    const Group group(H5Gopen2(file, name.c_str(), H5P_DEFAULT), "open a group of", path);
    write_offsets(group.get(), field.offsets, path);
    write_column(group.get(), kPresent, H5T_STD_U8LE, H5T_NATIVE_UINT8, field.present.size(),
                 field.present.data(), path);
  }
}

}  // namespace

void Columns::add(std::string_view key, std::int64_t label, std::uint64_t image_bytes) {
  offsets.push_back(offsets.back() + image_bytes);
  labels.push_back(label);
  keys += key;
  key_ends.push_back(keys.size());
}

ShardTemplate::ShardTemplate(fs::path shard)
    : shard_(std::move(shard)), fd_(::memfd_create("packhorse shard", MFD_CLOEXEC)) {
  if (!fd_) throw_errno("make a file in memory for", shard_);
}

Places ShardTemplate::lay_out(const Columns& columns, const std::vector<std::string>& classes) {
  const Session session;
  const fs::path& path = shard_;
  const std::string name = "/proc/self/fd/" + std::to_string(fd_.get());
  Properties access(H5Pcreate(H5P_FILE_ACCESS), "set up", path);
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set up", path);
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "set up", path);
  check(H5Pset_small_data_block_size(access.get(), 0), "set up", path);
  // Avoids the default driver: it resolves links, and the names of files in memory are dangling
  // links.
  check(H5Pset_fapl_stdio(access.get()), "set up", path);
  const Properties creation = creation_properties(H5P_FILE_CREATE, path);
  const File file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "create",
                  path);
  Places places = make_holes(file.get(), columns, path);
  write_columns(file.get(), columns, path);
  write_classes(file.get(), classes, path);
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "write", path);
  return places;
}

}  // namespace packhorse::hdf5

#include "formats/hdf5/foreign_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/printable.h"
#include "formats/hdf5/global_heap.h"
#include "formats/hdf5/inner_objects.h"

namespace packhorse::hdf5 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRewrite =
    "copy the array without compression and chunks, e.g. out.create_dataset(name, "
    "data=h5[name][:]) in h5py; or save images and labels as .npy files, which packhorse pack "
    "reads (docs/containers.md, Arrays)";

[[noreturn]] void refuse(const Column& column, const std::string& what, const fs::path& path,
                         const char* advice = kRewrite) {
  throw Error(ErrorKind::kUnsupported, "the array '" + printable(column.name) + "' " + what, path,
              advice);
}

std::optional<Column> open_column(hid_t file, const std::string& name, const fs::path& path) {
  auto dataset = find_dataset(file, name, path);
  if (!dataset) return std::nullopt;
  Column column{name, std::move(*dataset), {}};
  const Space space(H5Dget_space(column.dataset.get()), "read", path);
  const int axes = H5Sget_simple_extent_ndims(space.get());
  column.axes.resize(axes > 0 ? static_cast<std::size_t>(axes) : 0);
  H5Sget_simple_extent_dims(space.get(), column.axes.data(), nullptr);
  return column;
}

Type type_of(const Column& column, const fs::path& path) {
  return Type(H5Dget_type(column.dataset.get()), "inspect", path);
}

std::uint64_t offset_of(const Column& column, const fs::path& path) {
  const haddr_t begin = H5Dget_offset(column.dataset.get());
  if (begin == HADDR_UNDEF) refuse(column, "holds no data yet", path);
  return begin;
}

std::vector<std::string> fixed_strings(const Column& column, const Type& type,
                                       const fs::path& path) {
  const std::size_t width = H5Tget_size(type.get());
  std::string all(column.size() * width, '\0');
  check(H5Dread(column.dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()),
        "read", path);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < column.size(); ++i) {
    std::string text = all.substr(i * width, width);
    text.resize(::strnlen(text.data(), width));
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> variable_strings(const Column& column, const fs::path& path) {
  const Type type(H5Tcopy(H5T_C_S1), "read", path);
  H5Tset_size(type.get(), H5T_VARIABLE);
  const Type stored = type_of(column, path);
  H5Tset_cset(type.get(), H5Tget_cset(stored.get()));
  const Space space(H5Dget_space(column.dataset.get()), "read", path);
  std::vector<char*> views(column.size());
  check(H5Dread(column.dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, views.data()),
        "read", path);
  std::vector<std::string> texts;
  for (const char* view : views) texts.emplace_back(view != nullptr ? view : "");
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, views.data());
  return texts;
}

/// Refuses all but one value per sample: [N], or [N, 1].
void refuse_other_axes(const Column& column, const fs::path& path) {
  const bool one = column.axes.size() == 1 || (column.axes.size() == 2 && column.axes[1] == 1);
  if (!one)
    refuse(column, "has more than one value per sample", path,
           "write one for each: y.argmax(axis=1) where one of several is 1; or name another array "
           "with `label_array=` or `keys=`");
}

}  // namespace

std::optional<Column> find_column(hid_t file, const std::string& given,
                                  std::span<const char* const> usual, const fs::path& path) {
  if (!given.empty()) {
    if (auto column = open_column(file, given, path)) return column;
    throw Error(ErrorKind::kUsage, "the file has no array '" + given + "'", path,
                "`h5ls -r FILE` lists its arrays");
  }
  for (const char* name : usual) {
    if (auto column = open_column(file, name, path)) return column;
  }
  return std::nullopt;
}

H5D_layout_t layout_of(const Column& column, const fs::path& path) {
  const Properties made(H5Dget_create_plist(column.dataset.get()), "inspect", path);
  if (H5Pget_nfilters(made.get()) > 0)
    refuse(column, "is compressed or filtered, so single images in it cannot be read", path);
  return H5Pget_layout(made.get());
}

std::uint64_t begin_of(const Column& column, const fs::path& path) {
  const H5D_layout_t layout = layout_of(column, path);
  if (layout == H5D_CHUNKED)
    refuse(column, "is stored in chunks, so the bytes of an image do not lie together", path);
  if (layout != H5D_CONTIGUOUS)
    refuse(column, "is stored in the header of its object, where packhorse does not look", path);
  return offset_of(column, path);
}

std::vector<ReferencePiece> pieces_of(const Column& column, const fs::path& path) {
  const H5D_layout_t layout = layout_of(column, path);
  if (layout == H5D_CONTIGUOUS) return {{0, column.size(), offset_of(column, path)}};
  if (layout != H5D_CHUNKED) refuse(column, "is stored in a layout that is not supported", path);
  const Space space(H5Dget_space(column.dataset.get()), "read", path);
  hsize_t chunks = 0;
  check(H5Dget_num_chunks(column.dataset.get(), space.get(), &chunks), "read", path);
  std::vector<ReferencePiece> pieces;
  for (hsize_t i = 0; i < chunks; ++i) {
    hsize_t first = 0, bytes = 0;
    unsigned filters = 0;
    haddr_t address = HADDR_UNDEF;
    check(
        H5Dget_chunk_info(column.dataset.get(), space.get(), i, &first, &filters, &address, &bytes),
        "read", path);
    if (first >= column.size() || address == HADDR_UNDEF)
      throw Error(ErrorKind::kCorrupt, "damaged HDF5: a chunk lies outside its array", path);
    const std::uint64_t room = bytes / kReferenceBytes;
    pieces.push_back({first, std::min<std::uint64_t>(room, column.size() - first), address});
  }
  std::ranges::sort(pieces, [](const auto& a, const auto& b) { return a.first < b.first; });
  return pieces;
}

std::vector<std::int64_t> read_integers(const Column& column, const fs::path& path) {
  refuse_other_axes(column, path);
  const Type type = type_of(column, path);
  if (H5Tget_class(type.get()) != H5T_INTEGER) refuse(column, "does not hold integers", path);
  std::vector<std::int64_t> values(column.size());
  check(
      H5Dread(column.dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      "read", path);
  return values;
}

std::vector<std::string> read_texts(const Column& column, const fs::path& path) {
  refuse_other_axes(column, path);
  const Type type = type_of(column, path);
  if (H5Tget_class(type.get()) == H5T_STRING) {
    return H5Tis_variable_str(type.get()) > 0 ? variable_strings(column, path)
                                              : fixed_strings(column, type, path);
  }
  if (H5Tget_class(type.get()) != H5T_INTEGER)
    refuse(column, "holds neither integers nor strings", path,
           "write whole numbers, y.astype('int64'), or name another array with `label_array=` or "
           "`keys=`");
  std::vector<std::string> texts;
  for (const std::int64_t value : read_integers(column, path))
    texts.push_back(std::to_string(value));
  return texts;
}

bool holds_bytes(const Column& column, const fs::path& path) {
  const Type type = type_of(column, path);
  return H5Tget_class(type.get()) == H5T_INTEGER && H5Tget_size(type.get()) == 1 &&
         H5Tget_sign(type.get()) == H5T_SGN_NONE;
}

std::string type_words(const Column& column, const fs::path& path) {
  const Type type = type_of(column, path);
  const H5T_class_t kind = H5Tget_class(type.get());
  const std::size_t bits = 8 * H5Tget_size(type.get());
  if (kind == H5T_FLOAT) return fmt::format("floats of {} bits", bits);
  if (kind == H5T_INTEGER) {
    const bool is_signed = H5Tget_sign(type.get()) != H5T_SGN_NONE;
    return fmt::format("{}signed integers of {} bits", is_signed ? "" : "un", bits);
  }
  if (kind == H5T_STRING) return "texts";
  return "values of another type";
}

bool holds_sequences(const Column& column, const fs::path& path) {
  const Type type = type_of(column, path);
  if (H5Tget_class(type.get()) != H5T_VLEN) return false;
  const Type element(H5Tget_super(type.get()), "inspect", path);
  return H5Tget_class(element.get()) == H5T_INTEGER && H5Tget_size(element.get()) == 1;
}

}  // namespace packhorse::hdf5

#include "formats/hdf5/inner_objects.h"

namespace packhorse::hdf5 {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& name, const fs::path& path) {
  throw Error(ErrorKind::kUnsupported, "the array '" + name + "' is in another file", path,
              "copy it into this one, e.g. out.create_dataset(name, data=h5[name][:]) in h5py");
}

/// Properties that open an object without following links out of the file. `of`:
/// H5P_DATASET_ACCESS, ...
Properties inside(hid_t of, const fs::path& path) {
  Properties access(H5Pcreate(of), "inspect", path);
  const H5L_elink_traverse_t never = [](const char*, const char*, const char*, const char*,
                                        unsigned*, hid_t, void*) -> herr_t { return -1; };
  check(H5Pset_elink_cb(access.get(), never, nullptr), "inspect", path);
  return access;
}

/// False when the name leads nowhere. Looks at each link on the way before anything follows it.
bool is_there(hid_t parent, const std::string& name, const fs::path& path) {
  const Properties access = inside(H5P_LINK_ACCESS, path);
  for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    H5L_info_t link{};
    if (!part.empty()) {
      if (H5Lget_info(parent, part.c_str(), &link, access.get()) < 0) return false;
      if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) refuse(name, path);
    }
    if (end == std::string::npos) return true;
  }
}

}  // namespace

File open_file(const fs::path& path) {
  return File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", path);
}

std::optional<Dataset> find_dataset(hid_t parent, const std::string& name, const fs::path& path) {
  if (!is_there(parent, name, path)) return std::nullopt;
  const hid_t id = H5Dopen2(parent, name.c_str(), inside(H5P_DATASET_ACCESS, path).get());
  if (id < 0) return std::nullopt;  // a group, or a soft link that leads nowhere
  Dataset dataset(id, "open", path);
  // Checked before anything else: even asking a virtual dataset for its size opens its sources.
  const Properties made(H5Dget_create_plist(id), "inspect", path);
  if (H5Pget_layout(made.get()) == H5D_VIRTUAL || H5Pget_external_count(made.get()) > 0)
    refuse(name, path);
  return dataset;
}

Dataset open_dataset(hid_t parent, const std::string& name, const fs::path& path) {
  if (auto found = find_dataset(parent, name, path)) return std::move(*found);
  throw Error(ErrorKind::kCorrupt, "damaged HDF5: it has no array '" + name + "'", path);
}

Group open_group(hid_t parent, const std::string& name, const fs::path& path) {
  if (!is_there(parent, name, path))
    throw Error(ErrorKind::kCorrupt, "damaged HDF5: it has no group '" + name + "'", path);
  return Group(H5Gopen2(parent, name.c_str(), inside(H5P_GROUP_ACCESS, path).get()), "open", path);
}

}  // namespace packhorse::hdf5

#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "formats/hdf5/handles.h"

/// Opens objects that lie in the file itself. HDF5 follows links into other files, and opens them
/// before it says so. The data of an array may lie in other files, too, named only by a path. A
/// file from outside must lead nowhere, so all of its objects are opened by these functions.
/// Callers hold Session.
namespace packhorse::hdf5 {

/// Throws Error(kCorrupt).
File open_file(const std::filesystem::path& path);

/// The dataset of that name; nothing when there is none. Throws Error(kUnsupported), and opens
/// nothing, for a link into another file, and for a dataset whose data lie in other files.
std::optional<Dataset> find_dataset(hid_t parent, const std::string& name,
                                    const std::filesystem::path& path);
/// The same; throws Error(kCorrupt) when there is none.
Dataset open_dataset(hid_t parent, const std::string& name, const std::filesystem::path& path);
Group open_group(hid_t parent, const std::string& name, const std::filesystem::path& path);

}  // namespace packhorse::hdf5

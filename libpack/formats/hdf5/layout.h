#pragma once

#include <string_view>

/// HDF5 shard:
///
///     /                attribute "classes": class names, label -> name, fixed-length UTF-8
///     /images/data     uint8  [total]  the images' bytes, one behind the other, contiguous in the
///     file /images/offsets  uint64 [N + 1]  image i is data[offsets[i] : offsets[i + 1]] /labels
///     int64  [N] /keys            fixed-length ASCII [N]
///
/// In the file: superblock (version 3) and object headers, then /images/data, then everything else.
/// The images are streamed into place with plain writes before HDF5 knows their number: close()
/// lets the HDF5 library lay out the same file without them, sparse, and copies what stands around
/// the hole.
namespace packhorse::hdf5 {

inline constexpr int kVersion = 1;
inline constexpr std::string_view kSuffix = ".h5";
inline constexpr const char* kImages = "images";
inline constexpr const char* kData = "images/data";
inline constexpr const char* kOffsets = "images/offsets";
inline constexpr const char* kLabels = "labels";
inline constexpr const char* kKeys = "keys";
inline constexpr const char* kClasses = "classes";

}  // namespace packhorse::hdf5

#pragma once

#include <string>
#include <string_view>

/// HDF5 shard:
///
///     /                        attribute "classes": class names, label -> name, fixed-length UTF-8
///     /images/data             uint8  [total]  the images' bytes, one behind the other, contiguous
///     /images/offsets          uint64 [N + 1]  image i is data[offsets[i] : offsets[i + 1]]
///     /labels                  int64  [N]
///     /keys                    fixed-length ASCII [N], padded with zeros
///     /fields/<name>/data      uint8  [total]  an extra field's bytes, as the images'
///     /fields/<name>/offsets   uint64 [N + 1]
///     /fields/<name>/present   uint8  [N]      1 where the sample has the field, empty or not
///
/// With raw pixels, `/images` is not a group but a dataset:
///
///     /images                  uint8  [N, height, width, channels]  contiguous
///
/// The file holds the superblock (version 3) and object headers, then the images, then the fields'
/// data, then everything else. Images are streamed into place with plain writes before HDF5 knows
/// their number, fields into files of their own. close() lets the HDF5 library lay out the same
/// file, sparse and in memory, with holes in place of images and fields. It copies what surrounds
/// the holes, and fills those of the fields.
namespace packhorse::hdf5 {

inline constexpr int kVersion = 1;
inline constexpr std::string_view kSuffix = ".h5";
inline constexpr const char* kImages = "images";
inline constexpr const char* kFields = "fields";
inline constexpr const char* kLabels = "labels";
inline constexpr const char* kKeys = "keys";
inline constexpr const char* kClasses = "classes";
// Inside /images and each of /fields:
inline constexpr const char* kData = "data";
inline constexpr const char* kOffsets = "offsets";
inline constexpr const char* kPresent = "present";

}  // namespace packhorse::hdf5

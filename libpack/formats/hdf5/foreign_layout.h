#pragma once

#include <hdf5.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/foreign_shard.h"
#include "formats/hdf5/handles.h"

/// What is accepted in HDF5 files that others made:
///
///     arrays   /images  uint8 [N, height, width, channels] or [N, height, width], contiguous:
///                       pixels, 3 channels (RGB) or 1
///     vlen     /images  vlen of uint8 [N], contiguous or in chunks: each value an image file
///     flat     /images  uint8 [total], contiguous, and /offsets integers [N] or [N + 1]: the same
///                       (in ours: /images/data and /images/offsets)
///
///     /labels           integers or strings [N]; may be absent
///     /keys             strings [N]; absent: a key is the place, in nine digits
///
/// under these names, or one of the others below, or those the caller gives.
namespace packhorse::hdf5 {

inline constexpr std::array kImageNames = {"images", "image", "images/data", "data", "imgs",
                                           "x",      "X"};
inline constexpr std::array kOffsetNames = {"images/offsets", "offsets", "image_offsets",
                                            "images_offsets"};
inline constexpr std::array kLabelNames = {"labels", "label", "targets", "target", "y", "Y"};
inline constexpr std::array kKeyNames = {"keys", "key", "filenames", "names", "ids"};

/// An open dataset of the file, with its most-used properties.
struct Column {
  std::string name;
  Dataset dataset;
  std::vector<hsize_t> axes;
  std::size_t size() const { return axes.empty() ? 0 : axes.front(); }
};

/// Callers of all of these hold Session.

/// The dataset named `given`, or else one with one of the usual names; nothing when there is none.
/// Throws Error(kUsage) when `given` is not there, Error(kUnsupported) when it leads to another
/// file.
std::optional<Column> find_column(hid_t file, const std::string& given,
                                  std::span<const char* const> usual,
                                  const std::filesystem::path& path);

/// How a dataset is stored. Throws Error(kUnsupported) when it is filtered or lies in another file.
H5D_layout_t layout_of(const Column& column, const std::filesystem::path& path);
/// Where a contiguous dataset begins. Throws Error(kUnsupported), with advice, for any other.
std::uint64_t begin_of(const Column& column, const std::filesystem::path& path);

/// Where the elements of a dataset of heap references lie, in pieces of `elements` each.
struct ReferencePiece {
  std::uint64_t first = 0;  ///< element
  std::uint64_t elements = 0;
  std::uint64_t offset = 0;  ///< in the file
};
std::vector<ReferencePiece> pieces_of(const Column& column, const std::filesystem::path& path);

/// Reads integers, one per sample; throws Error(kUnsupported) for anything else.
std::vector<std::int64_t> read_integers(const Column& column, const std::filesystem::path& path);
/// Reads integers or strings, one per sample, as text.
std::vector<std::string> read_texts(const Column& column, const std::filesystem::path& path);

/// Whether a column holds unsigned bytes, or sequences of them.
bool holds_bytes(const Column& column, const std::filesystem::path& path);
bool holds_sequences(const Column& column, const std::filesystem::path& path);
/// The type of a column's values in words: "floats of 32 bits".
std::string type_words(const Column& column, const std::filesystem::path& path);

}  // namespace packhorse::hdf5

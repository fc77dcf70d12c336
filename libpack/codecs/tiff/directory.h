#pragma once

#include <optional>
#include <vector>

#include "codecs/cursor.h"

/// TIFF's image file directories (TIFF 6.0, section 2).
namespace packhorse::codecs::tiff {

// Tags of TIFF 6.0 that matter here.
inline constexpr std::uint32_t kSubfileType = 254, kOldSubfileType = 255, kSubDirectories = 330,
                               kWidth = 256, kHeight = 257, kBits = 258, kCompression = 259,
                               kPhotometric = 262, kFillOrder = 266, kStripOffsets = 273,
                               kOrientation = 274, kSamplesPerPixel = 277, kRowsPerStrip = 278,
                               kStripBytes = 279, kPlanar = 284, kColourMap = 320, kTileWidth = 322,
                               kTileHeight = 323, kTileOffsets = 324, kTileBytes = 325,
                               kPredictor = 317, kInkSet = 332, kExtraSamples = 338,
                               kSampleFormat = 339;

/// One directory of a TIFF structure. Stepping outside the file gives nothing rather than garbage.
class Directory {
 public:
  /// `at`: bytes from the start of the structure.
  Directory(const Cursor& data, std::size_t at) : data_(data), at_(at) {}

  std::size_t at() const { return at_; }
  bool has(std::uint32_t tag) const { return find(tag).has_value(); }
  /// The first value of a tag, or `otherwise` where there is none.
  std::uint32_t value(std::uint32_t tag, std::uint32_t otherwise) const;
  /// Up to `most` values of a tag.
  std::vector<std::uint32_t> values(std::uint32_t tag, std::size_t most) const;
  /// Whether all strips or tiles of these tags have bytes inside the file, behind its header.
  bool pieces_inside(std::uint32_t offsets_tag, std::uint32_t bytes_tag) const;
  /// What it takes of the file.
  std::size_t bytes() const;
  /// Where the next directory is; 0 after the last.
  std::size_t next() const;

 private:
  struct Entry {
    std::uint32_t type = 0, count = 0;
    std::size_t values = 0;  ///< where the values lie
  };
  std::optional<Entry> find(std::uint32_t tag) const;
  std::optional<std::uint32_t> value_of(const Entry& entry, std::size_t i) const;

  Cursor data_;
  std::size_t at_;
};

/// A TIFF structure's bytes, or nothing when it does not begin as one. A big TIFF is none.
std::optional<Cursor> open_structure(Bytes structure);
/// The first directory of a structure.
Directory first_directory(const Cursor& data);

}  // namespace packhorse::codecs::tiff

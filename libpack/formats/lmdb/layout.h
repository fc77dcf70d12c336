#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

/// LMDB shard: a directory with one file, data.mdb, one unnamed database, no other keys than
/// samples. Two layouts. With Datums (lmdb):
///
///     key    000000017                         the sample's key, ASCII
///     value  22 <varint n> <n image bytes>     Caffe Datum: field 4, data
///            28 <varint label>                              field 5, label
///            38 01                                          field 7, encoded = true
///
/// and for raw pixels, rows from the top, channels interleaved:
///
///     value  08 <varint channels> 10 <varint height> 18 <varint width>    fields 1, 2, 3
///            22 <varint n> <n pixel bytes>  28 <varint label>  38 00      encoded = false
///
/// Read by DALI's readers.caffe, and any LMDB binding plus a protobuf parser; encoded images by
/// Caffe, too. (Caffe takes raw data as planes, DALI as interleaved; see docs/formats/lmdb.md.)
/// Sources: caffe/src/caffe/proto/caffe.proto, message Datum; protobuf encoding guide.
///
/// With members (lmdb-members), as the members of a WebDataset tar, in the byte order of keys:
///
///     key    000000017.cls         value  the label, ASCII decimal
///     key    000000017.jpg         value  the image's bytes
///     key    000000017.seg.png     value  an extra field's bytes
///     key    000000018.cls ...
///
/// Raw pixels are a NumPy file there, `.npy`.
namespace packhorse::lmdb {

inline constexpr int kVersion = 1;
inline constexpr int kMembersVersion = 1;
inline constexpr std::string_view kSuffix = ".lmdb/data.mdb";

inline constexpr char kChannelsTag = 0x08;  // field 1, varint
inline constexpr char kHeightTag = 0x10;    // field 2, varint
inline constexpr char kWidthTag = 0x18;     // field 3, varint
inline constexpr char kDataTag = 0x22;      // field 4, length-delimited
inline constexpr char kLabelTag = 0x28;     // field 5, varint
inline constexpr char kEncodedTag = 0x38;   // field 7, varint

/// The bytes before and after the image in a value.
struct DatumFrame {
  std::string head, tail;
};
DatumFrame frame_datum(const ImageInfo& image, std::size_t image_bytes, std::int64_t label);

/// A Datum, any order of fields. `image` views into the value. Throws Error(kCorrupt).
struct Datum {
  Bytes image;
  std::optional<std::int64_t> label = {};
  bool encoded = false;
};
Datum parse_datum(Bytes value);

inline constexpr char kLabelMember[] = "cls";

/// The key of a member is the sample's, a dot, and what kind of member it is.
inline std::string member_key(std::string_view key, std::string_view extension) {
  return std::string(key).append(".").append(extension);
}

/// Such a key, cut at its first dot: samples' keys have none.
struct MemberName {
  std::string_view key, extension;
};
inline MemberName split_member(std::string_view member) {
  const std::size_t dot = member.find('.');
  if (dot == std::string_view::npos) return {member, {}};
  return {member.substr(0, dot), member.substr(dot + 1)};
}

}  // namespace packhorse::lmdb

#pragma once

#include <string>
#include <string_view>

#include "packhorse/bytes.h"

/// LMDB shard: a directory with one file, data.mdb, one unnamed database, no other keys than
/// samples:
///
///     key    000000017                         the sample's key, ASCII
///     value  22 <varint n> <n image bytes>     Caffe Datum: field 4, data
///            28 <varint label>                              field 5, label
///            38 01                                          field 7, encoded = true
///
/// Read by Caffe, DALI's readers.caffe, and any LMDB binding plus a protobuf parser.
/// Sources: caffe/src/caffe/proto/caffe.proto, message Datum; protobuf encoding guide.
namespace packhorse::lmdb {

inline constexpr int kVersion = 1;
inline constexpr std::string_view kSuffix = ".lmdb/data.mdb";

inline constexpr char kDataTag = 0x22;     // field 4, length-delimited
inline constexpr char kLabelTag = 0x28;    // field 5, varint
inline constexpr char kEncodedTag = 0x38;  // field 7, varint

/// What stands before and after the image bytes in a value.
struct DatumFrame {
  std::string head, tail;
};
DatumFrame frame_datum(std::size_t image_bytes, std::int64_t label);

/// An encoded Datum, any order of fields. `image` views into the value. Throws Error(kCorrupt).
struct Datum {
  Bytes image;
  std::int64_t label = -1;
  bool encoded = false;
};
Datum parse_datum(Bytes value);

}  // namespace packhorse::lmdb

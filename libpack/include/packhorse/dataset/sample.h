#pragma once

#include <span>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// Something that belongs to a sample besides its image: a mask, a caption, boxes.
struct Field {
  std::string_view name;  ///< what follows the key in a file name, lower case: "json", "seg.png"
  Bytes bytes;
};

/// One sample on its way into a shard. Views only: the caller of ShardWriter::add owns the memory.
struct Sample {
  std::string_view key;  ///< unique in the dataset; ASCII letters, digits, '-' and '_'
  std::int64_t label = 0;
  ImageInfo image;
  Bytes bytes;                         ///< the encoded image, as it will be stored
  std::span<const Field> fields = {};  ///< the fields it has, in the order of ShardSpec::fields
};

/// The digits of the keys of so many samples: at least nine.
int key_digits(std::uint64_t samples);

/// A sample's key is its place in the plan, in decimal, padded with zeros to `digits`, so that byte
/// order is plan order. Rejected inputs leave gaps: a key never depends on other inputs.
std::string key_of(std::uint64_t position, int digits = key_digits(0));

}  // namespace packhorse

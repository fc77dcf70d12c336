#pragma once

#include "formats/foreign_shard.h"
#include "fuzz.h"

namespace packhorse::fuzz {

/// Reads everything that a foreign shard offers. Reading a sample that has a problem may throw.
inline void read_all(ForeignShard& shard) {
  for (std::size_t i = 0; i < shard.size(); ++i) {
    const FoundSample found = shard.found(i);
    touch(found.key);
    touch(found.label);
    try {
      const StoredSample stored = shard.read(i);
      promise(stored.bytes.size() == found.image.length, "an image has the size it is found with");
      touch(stored.bytes);
      for (const Field& field : stored.fields) touch(field.bytes);
    } catch (const Error&) {
      if (found.problem.empty()) throw;
    }
  }
}

}  // namespace packhorse::fuzz

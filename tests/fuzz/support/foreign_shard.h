#pragma once

#include "fuzz.h"
#include "packhorse/formats/foreign_shard.h"

namespace packhorse::fuzz {

/// Everything that a shard of another writer has to say. A sample that was found with a problem may
/// refuse to be read.
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

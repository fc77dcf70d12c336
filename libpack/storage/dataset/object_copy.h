#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dataset/remote_files.h"
#include "storage/object_store.h"

namespace packhorse {

/// Fills `into` with a whole object, several ranges at a time. All of them are of one object: where
/// the storage has tags, they are those that it had at the begin. `make_room` and `take` as in
/// RemoteFiles::copy(). Throws what the store throws, Error(kCorrupt) when the object is not as
/// large as `into`, and Error(kInterrupted).
void copy_object(ObjectStore& store, const std::string& name, std::span<std::byte> into,
                 const RoomMaker& make_room, const std::function<void(Bytes)>& take);

// Ranges of objects in memory, which is taken as their bytes come: a storage, a manifest and an
// index may each claim any size.

/// The most bytes of one file of a sample, or of one index, that are taken from a storage.
inline constexpr std::uint64_t kMostInMemory = std::uint64_t{4} << 30;
/// Memory is taken for so much at a time, before the bytes are there.
inline constexpr std::uint64_t kPieceInMemory = 64u << 20;

/// Waits for a range of an object of `of_bytes` bytes; `tag` as in RangeRead. Throws what the store
/// throws, and Error(kRejected) for more than kMostInMemory.
std::vector<std::byte> read_in_pieces(ObjectStore& store, const std::string& name, ByteRange range,
                                      std::uint64_t of_bytes, const std::string& tag);

}  // namespace packhorse

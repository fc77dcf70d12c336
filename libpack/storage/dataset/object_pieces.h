#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/storage/object_store.h"

/// Ranges of objects in memory, which is taken as their bytes come: a storage, a manifest and an
/// index may each claim any size.
namespace packhorse {

/// The most bytes of one file of a sample, or of one index, that are taken from a storage.
inline constexpr std::uint64_t kMostInMemory = std::uint64_t{4} << 30;
/// Memory is taken for so much at a time, before the bytes are there.
inline constexpr std::uint64_t kPieceInMemory = 64u << 20;

/// Waits for a range of an object of `of_bytes` bytes; `tag` as in RangeRead. Throws what the store
/// throws, and Error(kRejected) for more than kMostInMemory.
std::vector<std::byte> read_in_pieces(ObjectStore& store, const std::string& name, ByteRange range,
                                      std::uint64_t of_bytes, const std::string& tag);

}  // namespace packhorse

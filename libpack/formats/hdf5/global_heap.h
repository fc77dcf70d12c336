#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"

/// Where HDF5 keeps values of variable length: collections of objects, each object one piece.
///
///     collection  | "GCOL" | version 1 | 0 0 0 | size of all of it 8 | objects | free space |
///     object      | index 2 | references 2 | 0 0 0 0 | size 8 | data, padded to 8 |
///
/// Object 0 is the free space at the end, if there is room for one. A value in a dataset is
///
///     | length 4 | address of the collection 8 | index of the object 4 |
///
/// Source: HDF5 File Format Specification 3.0, III.E "Disk Format: Level 1E - Global Heap". Covers
/// only files with addresses and lengths of 8 bytes, which is what HDF5 makes by default.
namespace packhorse::hdf5 {

inline constexpr std::size_t kReferenceBytes = 16;

/// A value as a dataset refers to it.
struct HeapReference {
  std::uint32_t length = 0;
  std::uint64_t collection = 0;  ///< relative to the start of the HDF5 part of the file
  std::uint32_t object = 0;
};
HeapReference parse_reference(std::span<const std::byte, kReferenceBytes> bytes);

/// Objects of one collection and where their data lie.
struct HeapObject {
  std::uint32_t index = 0;
  ByteRange data;
};

/// Fills the span from this offset of the file. Only called for ranges inside the file.
using ReadAt = std::function<void(std::uint64_t, std::span<std::byte>)>;

/// The collection at `begin` of a file of `file_bytes`. Every size is checked against what holds
/// it. Throws Error(kCorrupt), without a path.
std::vector<HeapObject> parse_collection(std::uint64_t begin, std::uint64_t file_bytes,
                                         const ReadAt& read);

/// Finds values; keeps the collection it read last. One thread.
class GlobalHeap {
 public:
  /// `base`: where the HDF5 part of the file begins.
  GlobalHeap(std::uint64_t base, std::uint64_t file_bytes, ReadAt read)
      : base_(base), file_bytes_(file_bytes), read_(std::move(read)) {}

  /// Where the value lies in the file. Throws Error(kCorrupt), without a path.
  ByteRange find(const HeapReference& reference);

 private:
  std::uint64_t base_, file_bytes_;
  ReadAt read_;
  std::optional<std::uint64_t> last_;
  std::vector<HeapObject> objects_;
};

}  // namespace packhorse::hdf5

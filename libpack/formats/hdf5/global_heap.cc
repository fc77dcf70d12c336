#include "formats/hdf5/global_heap.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse::hdf5 {

namespace {

constexpr std::uint64_t kHeader = 16;
constexpr std::uint64_t kObjectHeader = 16;
constexpr std::uint64_t kAlignment = 8;

template <class T>
T number_at(Bytes bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

[[noreturn]] void corrupt(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged HDF5: ") + what);
}

}  // namespace

HeapReference parse_reference(std::span<const std::byte, kReferenceBytes> bytes) {
  return {number_at<std::uint32_t>(bytes, 0), number_at<std::uint64_t>(bytes, 4),
          number_at<std::uint32_t>(bytes, 12)};
}

std::vector<HeapObject> parse_collection(std::uint64_t begin, std::uint64_t file_bytes,
                                         const ReadAt& read) {
  std::array<std::byte, kHeader> header{};
  if (begin > file_bytes || file_bytes - begin < kHeader)
    corrupt("a heap collection lies outside the file");
  read(begin, header);
  if (as_text(header).substr(0, 5) != std::string_view("GCOL\1", 5))
    corrupt("a heap collection has a wrong signature");
  const auto size = number_at<std::uint64_t>(header, 8);
  if (size < kHeader || size > file_bytes - begin)
    corrupt("a heap collection lies outside the file");
  const std::uint64_t end = begin + size;
  std::vector<HeapObject> objects;
  for (std::uint64_t at = begin + kHeader; end - at >= kObjectHeader;) {
    read(at, header);
    const auto index = number_at<std::uint16_t>(header, 0);
    if (index == 0) break;
    const auto bytes = number_at<std::uint64_t>(header, 8);
    at += kObjectHeader;
    if (bytes > end - at) corrupt("a value runs past its heap collection");
    objects.push_back({index, {at, bytes}});
    if (objects.size() > 0xffff) corrupt("a heap collection has too many values");
    at += std::min(end - at, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  std::ranges::sort(objects, {}, &HeapObject::index);
  const auto twice = std::ranges::adjacent_find(
      objects, [](const HeapObject& a, const HeapObject& b) { return a.index == b.index; });
  if (twice != objects.end()) corrupt("two values of a heap collection have the same number");
  return objects;
}

ByteRange GlobalHeap::find(const HeapReference& reference) {
  if (last_ != reference.collection) {
    last_.reset();
    if (reference.collection > file_bytes_ || base_ > file_bytes_ - reference.collection)
      corrupt("a heap collection lies outside the file");
    objects_ = parse_collection(base_ + reference.collection, file_bytes_, read_);
    last_ = reference.collection;
  }
  const auto found = std::lower_bound(
      objects_.begin(), objects_.end(), reference.object,
      [](const HeapObject& object, std::uint32_t index) { return object.index < index; });
  if (found == objects_.end() || found->index != reference.object)
    corrupt("a value is not in its heap collection");
  if (reference.length > found->data.length) corrupt("a value is longer than its space");
  return {found->data.offset, reference.length};
}

}  // namespace packhorse::hdf5

#include "storage/dataset/sample_check.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "dataset/shard_index.h"

namespace packhorse {

namespace {

bool inside(ByteRange part, ByteRange whole) {
  return part.offset >= whole.offset && part.end() <= whole.end();
}

Bytes part_of(Bytes bytes, ByteRange whole, ByteRange part) {
  return bytes.subspan(part.offset - whole.offset, part.length);
}

}  // namespace

SampleCheck::SampleCheck(const ShardIndex& index) : index_(index) {
  const auto offset = [&](std::size_t row) { return index.range(row).offset; };
  bool ascending = true;
  for (std::size_t row = 1; row < index.size() && ascending; ++row)
    ascending = offset(row - 1) <= offset(row);
  if (ascending) return;
  order_.resize(index.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::ranges::sort(order_,
                    [&](std::uint32_t a, std::uint32_t b) { return offset(a) < offset(b); });
}

bool SampleCheck::fits_row(std::size_t row, ByteRange range, Bytes bytes) const {
  const ByteRange image = index_.range(row);
  if (inside(image, range) && xxh3(part_of(bytes, range, image)) != index_.hash(row)) return false;
  for (std::size_t field = 0; field < index_.fields().size(); ++field) {
    if (!index_.has_field(row, field)) continue;
    const ByteRange part = index_.field_range(row, field);
    if (inside(part, range) && xxh3(part_of(bytes, range, part)) != index_.field_hash(row, field))
      return false;
  }
  return true;
}

bool SampleCheck::fits(ByteRange range, Bytes bytes) const {
  if (index_.compressed()) return true;
  std::size_t low = 0, high = index_.size();
  while (low < high) {  // the first image that begins in the range
    const std::size_t middle = low + (high - low) / 2;
    if (index_.range(row_at(middle)).offset < range.offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Fields of the sample before may lie in the range, too.
  for (std::size_t place = low == 0 ? 0 : low - 1; place < index_.size(); ++place) {
    const std::size_t row = row_at(place);
    if (index_.range(row).offset >= range.end()) break;
    if (!fits_row(row, range, bytes)) return false;
  }
  return true;
}

}  // namespace packhorse

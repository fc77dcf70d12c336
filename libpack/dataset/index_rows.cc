#include "dataset/index_rows.h"

#include <algorithm>

#include "base/xxh3.h"
#include "packhorse/dataset/sample.h"

namespace packhorse {

bool IndexRows::in_order(std::size_t first, std::size_t behind) const {
  return std::ranges::all_of(texts_, [&](const Texts& texts) {
    const std::uint64_t begin = texts.begin(first), all = texts.all.size();
    const std::span<const std::uint64_t> ends = texts.ends.subspan(first, behind - first);
    if (ends.empty()) return behind < texts.ends.size() || begin == all;
    const bool ends_right = behind < texts.ends.size() ? ends.back() <= all : ends.back() == all;
    return begin <= ends.front() && std::ranges::is_sorted(ends) && ends_right;
  });
}

std::uint64_t IndexRows::sum(std::size_t first, std::size_t behind) const {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  const auto add = [&](const void* bytes, std::size_t n) { XXH3_64bits_update(&state, bytes, n); };
  for (const auto& [bytes, width] : columns_)
    add(bytes.data() + first * width, (behind - first) * width);
  for (const Texts& texts : texts_) {
    // Looked at once: a file that is cut now has other ends than it had in in_order().
    const std::uint64_t begin = texts.begin(first), end = texts.begin(behind);
    if (begin <= end && end <= texts.all.size()) add(texts.all.data() + begin, end - begin);
  }
  return XXH3_64bits_digest(&state);
}

IndexRows IndexColumns::rows() const {
  IndexRows rows;
  rows.add(std::as_bytes(ranges), sizeof(ByteRange));
  rows.add(std::as_bytes(hashes), sizeof(std::uint64_t));
  rows.add(std::as_bytes(labels), sizeof(std::int64_t));
  rows.add(images, kImageRowBytes);
  rows.add_text(key_ends, keys);
  rows.add_text(path_ends, paths);
  rows.add(std::as_bytes(field_ranges), fields * sizeof(ByteRange));
  rows.add(std::as_bytes(field_hashes), fields * sizeof(std::uint64_t));
  if (!frames.empty()) rows.add(std::as_bytes(frames), sizeof(Frame));
  return rows;
}

int key_digits(std::uint64_t samples) {
  constexpr int kFewest = 9;
  const std::uint64_t last = samples == 0 ? 0 : samples - 1;
  return std::max(kFewest, static_cast<int>(std::to_string(last).size()));
}

std::string key_of(std::uint64_t position, int digits) {
  std::string key = std::to_string(position);
  const auto wanted = static_cast<std::size_t>(digits);
  if (key.size() < wanted) key.insert(0, wanted - key.size(), '0');
  return key;
}

}  // namespace packhorse

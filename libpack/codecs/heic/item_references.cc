#include "codecs/heic/item_references.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "codecs/cursor.h"

namespace packhorse::codecs {

namespace {

constexpr std::size_t kMostReferences = 1u << 20;

/// Calls `found` with the content of each box of this type (ISO/IEC 14496-12, 4.2). Returns false
/// where bytes are not a box.
template <class Found>
bool for_boxes(Bytes boxes, std::string_view type, const Found& found) {
  const Cursor cursor(boxes);
  for (std::uint64_t at = 0; at < boxes.size();) {
    const std::uint64_t left = boxes.size() - at;
    std::uint64_t size = cursor.u32(at).value_or(0), head = 8;
    if (size == 1) {  // eight bytes follow the type
      size = std::uint64_t{cursor.u32(at + 8).value_or(0)} << 32 | cursor.u32(at + 12).value_or(0);
      head = 16;
    } else if (size == 0) {
      size = left;
    }
    if (size < head || size > left) return false;
    if (type.empty() || cursor.has(at + 4, type))
      if (!found(boxes.subspan(at, size), head)) return false;
    at += size;
  }
  return true;
}

}  // namespace

bool has_few_levels(Bytes file) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_of;
  const auto reference = [&](Bytes box, std::size_t head, std::size_t width) {
    const Cursor cursor(box);
    const auto item = [&](std::size_t at) { return width == 2 ? cursor.u16(at) : cursor.u32(at); };
    const bool parts = cursor.has(4, "dimg"), alpha = cursor.has(4, "auxl");
    const auto from = item(head), count = cursor.u16(head + width);
    if (!from || !count || made_of.size() > kMostReferences) return false;
    for (std::size_t i = 0; i < *count; ++i) {
      const auto to = item(head + width + 2 + i * width);
      if (!to) return false;
      if (parts) made_of.emplace_back(*from, *to);
      if (alpha) made_of.emplace_back(*to, *from);
    }
    return true;
  };
  bool sound = true;
  // Bytes after the last box are nobody's.
  for_boxes(file, "meta", [&](Bytes meta, std::size_t head) {
    return sound = for_boxes(
               meta.subspan(std::min(head + 4, meta.size())), "iref",
               [&](Bytes box, std::size_t at) {
                 const std::size_t width = Cursor(box).u8(at) == 0u ? 2 : 4;  // by its version
                 return for_boxes(
                     box.subspan(std::min(at + 4, box.size())), "",
                     [&](Bytes one, std::size_t begin) { return reference(one, begin, width); });
               });
  });
  std::set<std::uint32_t> reached;
  for (const auto& [whole, part] : made_of) reached.insert(whole);
  for (int level = 0; level < 4 && !reached.empty(); ++level) {
    std::set<std::uint32_t> parts;
    for (const auto& [whole, part] : made_of)
      if (reached.contains(whole)) parts.insert(part);
    reached = std::move(parts);
  }
  for (const auto& [whole, part] : made_of)
    if (reached.contains(whole)) sound = false;
  return sound;
}

}  // namespace packhorse::codecs

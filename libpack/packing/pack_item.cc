#include "packing/pack_item.h"

#include <fmt/format.h>

#include "codecs/decode_check.h"
#include "packhorse/base/error.h"
#include "packhorse/base/hash.h"

namespace packhorse {

namespace {

constexpr std::size_t kKeptCapacity = 256u << 10;

void shrink_buffer(std::vector<std::byte>& buffer) {
  if (buffer.capacity() > kKeptCapacity) std::vector<std::byte>().swap(buffer);
}

/// When the bytes say nothing about the kind, the name may still do so.
std::string reason_of(const ProbeResult& probe, const PackItem& item) {
  const Bytes bytes = item.input.bytes;
  const std::string_view named = unsupported_kind_by_name(item.entry.path);
  const bool told = bytes.empty() || sniff_image(bytes) != ImageKind::kUnknown ||
                    !unsupported_kind(bytes).empty();
  if (told || named.empty()) return probe.reason;
  return "unsupported kind: " + std::string(named) + ", by its name";
}

}  // namespace

std::string name_of_checks(const PackOptions& options) {
  const ImageLimits& limits = options.limits;
  return fmt::format("{} {} {} {}", limits.pixels, limits.scan_pixels, limits.decoded_bytes,
                     options.decode);
}

std::uint64_t PackItem::bytes_in() const {
  std::uint64_t bytes = input.bytes.size();
  for (const Field& field : fields) bytes += field.bytes.size();
  return bytes;
}

void PackItem::shrink() {
  shrink_buffer(input.bytes);
  shrink_buffer(output);
  for (Input::Extra& extra : input.extras) shrink_buffer(extra.bytes);
}

ItemPreparer::ItemPreparer(const Source& source, const SplitListing& split, const Listing& listing,
                           const PackOptions& options)
    : source_(source),
      split_(split),
      listing_(listing),
      options_(options),
      transform_(find_transform(options.image).make(options.transform)) {}

void ItemPreparer::prepare(PackItem& item, std::size_t entry) const {
  item.entry = split_.entries[entry];
  item.reason.clear();
  item.may_change = false;
  item.input.image = {};
  item.input.fields = 0;
  try {
    source_.read(split_, entry, item.input);
  } catch (const Error& error) {
    item.reason = error.what();
    item.may_change = true;
    return;
  }
  item.image = item.input.image;
  if (item.image.kind == ImageKind::kUnknown) {
    ProbeResult probe = probe_image(item.input.bytes, options_.limits);
    if (!probe.info) {
      item.reason = reason_of(probe, item);
      return;
    }
    item.image = *probe.info;
  }
  try {
    const Transformed made = transform_->apply(item.input.bytes, item.image, item.output);
    item.stored = made.bytes;
    item.note = made.note;
    // An image that the mode has changed was decoded for that already.
    if (options_.decode && item.stored.data() == item.input.bytes.data())
      decode_strictly(item.stored, item.image);
  } catch (const Error& error) {
    item.reason = error.what();
    return;
  }
  item.hash = xxh3(item.stored);
  item.fields.clear();
  item.field_hashes.assign(listing_.fields.size(), 0);
  for (std::size_t i = 0; i < item.input.fields; ++i) {
    const Input::Extra& extra = item.input.extras[i];
    item.fields.push_back({listing_.fields.at(extra.field), extra.bytes});
    item.field_hashes[extra.field] = xxh3(extra.bytes);
  }
}

}  // namespace packhorse

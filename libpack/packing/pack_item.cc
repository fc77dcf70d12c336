#include "packing/pack_item.h"

#include <fmt/format.h>

#include <algorithm>

#include "annotations/sample_targets.h"
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
  std::uint64_t bytes = input.bytes.size() + record.size();
  for (std::size_t i = 0; i < input.fields; ++i) bytes += input.extras[i].bytes.size();
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
      transform_(find_transform(options.image).make(options.transform)),
      fields_(listing.stored_fields()) {}

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
    const MaskSize size = {item.image.height, item.image.width};
    const bool has_targets = !listing_.targets.empty();
    Objects objects = has_targets ? read_objects(item, entry) : Objects{};
    const Transformed made = transform_->apply(item.input.bytes, item.image, item.output);
    item.stored = made.bytes;
    item.note = made.note;
    // An image that the mode has changed was decoded for that already.
    if (options_.decode && item.stored.data() == item.input.bytes.data())
      decode_strictly(item.stored, item.image);
    item.moved = !made.map.changes_nothing();
    if (has_targets) item.objects = encode_objects(map_objects(std::move(objects), made.map, size));
  } catch (const Error& error) {
    item.reason = error.what();
    return;
  }
  item.hash = xxh3(item.stored);
  take_fields(item);
}

Objects ItemPreparer::read_objects(PackItem& item, std::size_t entry) const {
  const TargetRecord& target = listing_.targets.front();
  const auto field = [&](std::string_view name) -> std::optional<Bytes> {
    for (std::size_t i = 0; i < item.input.fields; ++i) {
      const Input::Extra& extra = item.input.extras[i];
      if (listing_.fields.at(extra.field) == name) return extra.bytes;
    }
    return std::nullopt;
  };
  item.record.clear();
  if (!listing_.made_targets) {
    const std::optional<Bytes> objects = field(target.name);
    if (!objects) throw Error(ErrorKind::kCorrupt, "its field '" + target.name + "' is missing");
    return decode_objects(*objects);
  }
  const SampleTargets& targets = *listing_.made_targets;
  item.record = targets.record(split_, entry);
  if (!item.record.empty()) return targets.objects(split_, item.record, item.image);
  const std::optional<Bytes> text = field(target.text);
  return targets.objects(split_, text ? as_text(*text) : targets.text_without_field(), item.image);
}

void ItemPreparer::take_fields(PackItem& item) const {
  const TargetRecord* const target = listing_.targets.empty() ? nullptr : &listing_.targets.front();
  item.fields.clear();
  item.field_hashes.assign(fields_.size(), 0);
  for (std::size_t i = 0; i < item.input.fields; ++i) {
    const Input::Extra& extra = item.input.extras[i];
    const std::string& name = listing_.fields.at(extra.field);
    if (target == nullptr || name != target->name) item.fields.push_back({name, extra.bytes});
  }
  if (target != nullptr) {
    item.fields.push_back({target->name, item.objects});
    if (!item.record.empty()) item.fields.push_back({target->text, as_bytes(item.record)});
    // Its numbers are those of the image as it was.
    if (item.moved)
      std::erase_if(item.fields, [&](const Field& field) { return field.name == target->text; });
    std::sort(item.fields.begin(), item.fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
  }
  for (const Field& field : item.fields) {
    const auto place = std::lower_bound(fields_.begin(), fields_.end(), field.name);
    item.field_hashes[static_cast<std::size_t>(place - fields_.begin())] = xxh3(field.bytes);
  }
}

}  // namespace packhorse

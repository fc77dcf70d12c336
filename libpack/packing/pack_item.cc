#include "packing/pack_item.h"

#include <algorithm>

#include "annotations/extra_targets.h"
#include "annotations/sample_targets.h"
#include "base/hash.h"
#include "base/stop.h"
#include "codecs/described_image.h"
#include "codecs/encode.h"
#include "codecs/image_header.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/label_image.h"

namespace packhorse {

namespace {

constexpr std::size_t kKeptCapacity = 256u << 10;

void shrink_buffer(std::vector<std::byte>& buffer) {
  if (buffer.capacity() > kKeptCapacity) std::vector<std::byte>().swap(buffer);
}

/// Why an image is rejected that could not be decoded.
Problem problem_of_pixels(const Error& error) {
  return problem_of(
      error, error.kind() == ErrorKind::kUnsupported ? Reason::kUnsupported : Reason::kDamaged);
}

}  // namespace

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
                           const PackOptions& options, bool heads_alone)
    : source_(source),
      split_(split),
      listing_(listing),
      options_(options),
      heads_alone_(heads_alone),
      transform_(find_transform(options.image).make(options.transform)),
      fields_(listing.stored_fields()) {}

ProbeResult ItemPreparer::read(Input& input, std::size_t entry, const std::string& path) const {
  constexpr std::size_t kHead = std::size_t{32} << 10;
  ProbeResult probe;
  for (const std::size_t head : {kHead, std::size_t{0}}) {
    if (head > 0 && !heads_alone_) continue;
    input.head = head;
    input.cut = false;
    source_.read(split_, entry, input);
    probe = check_image(input.bytes, input.image, options_.limits, path, input.cut);
    if (probe.info || !input.cut) break;
  }
  return probe;
}

void ItemPreparer::prepare(PackItem& item, std::size_t entry) const {
  obey_stop();
  item.entry = split_.entries[entry];
  item.problem.clear();
  item.may_change = false;
  item.made.clear();
  item.record.clear();
  item.objects = 0;
  item.turned = false;
  item.input.image = {};
  item.input.fields = 0;
  ProbeResult probe;
  try {
    probe = read(item.input, entry, item.entry.path);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    item.problem = problem_of(error, Reason::kUnreadable);
    item.may_change = true;
    return;
  }
  if (!probe.info) {
    item.problem = probe.problem();
    return;
  }
  item.image = *probe.info;
  item.layout = probe.layout;
  bool decoding = false;
  try {
    const MaskSize size = {item.image.height, item.image.width};
    const TargetRecord* const target = find_target(kObjectsTarget);
    Objects objects = target != nullptr ? read_objects(item, entry, *target) : Objects{};
    item.objects = objects.size();
    check_masks(objects, size.height, size.width);
    const ImageInfo source_image = item.image;
    decoding = true;
    const Transformed made = transform_->apply(item.input.bytes, item.image, item.output);
    item.stored = made.bytes;
    item.note = made.note;
    // An image that the mode has changed was decoded for that already.
    if (options_.decode && item.stored.data() == item.input.bytes.data())
      decode_strictly(item.stored, item.image);
    decoding = false;
    item.moved = !made.map.changes_nothing();
    if (target != nullptr)
      item.made.push_back(
          {target->name, encode_objects(map_objects(std::move(objects), made.map, size))});
    make_extras(item, entry, source_image, made.map);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    item.problem = decoding ? problem_of_pixels(error) : problem_of(error, Reason::kBadAnnotation);
    return;
  }
  item.hash = xxh3(item.stored);
  take_fields(item);
}

const TargetRecord* ItemPreparer::find_target(std::string_view kind) const {
  for (const TargetRecord& target : listing_.targets) {
    if (target.kind == kind) return &target;
  }
  return nullptr;
}

std::optional<Bytes> ItemPreparer::field_of(const PackItem& item, std::string_view name) const {
  for (std::size_t i = 0; i < item.input.fields; ++i) {
    const Input::Extra& extra = item.input.extras[i];
    if (listing_.fields.at(extra.field) == name) return extra.bytes;
  }
  return std::nullopt;
}

Objects ItemPreparer::read_objects(PackItem& item, std::size_t entry,
                                   const TargetRecord& target) const {
  if (!listing_.made_targets) {
    const std::optional<Bytes> objects = field_of(item, target.name);
    if (!objects) throw Error(ErrorKind::kCorrupt, "its field '" + target.name + "' is missing");
    return decode_objects(*objects);
  }
  const SampleTargets& targets = *listing_.made_targets;
  item.record = targets.record(split_, entry, item.image);
  const std::optional<Bytes> field = field_of(item, target.text);
  return targets.objects(split_, entry, field ? std::optional(as_text(*field)) : std::nullopt,
                         item.image, &item.turned);
}

void ItemPreparer::make_extras(PackItem& item, std::size_t entry, const ImageInfo& image,
                               const PixelMap& map) const {
  if (listing_.made_extras) {
    const ExtraTargets& extras = *listing_.made_extras;
    for (ExtraTargets::Made& made : extras.make(split_, entry))
      item.made.push_back({made.name, std::move(made.bytes)});
    for (std::size_t i = 0; i < item.input.fields; ++i) {
      const Input::Extra& extra = item.input.extras[i];
      extras.check({listing_.fields.at(extra.field), extra.bytes}, image);
    }
  }
  const TargetRecord* const mask = find_target(kMaskTarget);
  if (mask == nullptr || !item.moved) return;
  const std::optional<Bytes> png = field_of(item, mask->name);
  if (!png) return;
  const LabelImage mapped = map_labels(decode_label_image(*png, image.width, image.height), map,
                                       mask->ignore.value_or(kIgnoredLabel));
  PackItem::Made& made = item.made.emplace_back(PackItem::Made{mask->name, {}});
  ImageInfo grey;
  grey.width = mapped.width;
  grey.height = mapped.height;
  grey.components = 1;
  encode_png(grey, std::as_bytes(std::span(mapped.labels)), made.bytes);
}

void ItemPreparer::take_fields(PackItem& item) const {
  const auto is_made = [&](std::string_view name) {
    return std::ranges::any_of(item.made,
                               [&](const PackItem::Made& made) { return made.name == name; });
  };
  const TargetRecord* const objects = find_target(kObjectsTarget);
  item.fields.clear();
  item.field_hashes.assign(fields_.size(), 0);
  for (std::size_t i = 0; i < item.input.fields; ++i) {
    const Input::Extra& extra = item.input.extras[i];
    const std::string& name = listing_.fields.at(extra.field);
    if (!is_made(name)) item.fields.push_back({name, extra.bytes});
  }
  for (const PackItem::Made& made : item.made) item.fields.push_back({made.name, made.bytes});
  if (!item.record.empty()) item.fields.push_back({objects->text, as_bytes(item.record)});
  // Its numbers are those of the image as it was.
  if (objects != nullptr && item.moved)
    std::erase_if(item.fields, [&](const Field& field) { return field.name == objects->text; });
  std::ranges::sort(item.fields, {}, &Field::name);
  for (const Field& field : item.fields) {
    const auto place = std::lower_bound(fields_.begin(), fields_.end(), field.name);
    item.field_hashes[static_cast<std::size_t>(place - fields_.begin())] = xxh3(field.bytes);
  }
}

}  // namespace packhorse

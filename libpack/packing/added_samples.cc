#include "packing/added_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/printable.h"
#include "codecs/encode.h"
#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestKey = 64;

/// What a sample's bytes in the spool begin with; the image and the fields follow in this order.
struct Record {
  std::uint64_t image_bytes = 0;
  std::uint32_t width = 0, height = 0;
  std::uint32_t channels = 0;  ///< 0: an image file
  std::uint32_t fields = 0;
};
struct FieldRecord {
  std::uint64_t number = 0, bytes = 0;
};

template <class Plain>
Bytes bytes_of(const Plain& plain) {
  return std::as_bytes(std::span(&plain, 1));
}

[[noreturn]] void refuse(const std::string& what, const std::string& advice, std::string_view key) {
  throw Error(ErrorKind::kUsage, what, {}, advice, std::string(key));
}

bool is_key(std::string_view key) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return key.size() <= kLongestKey && key.find_first_not_of(kAllowed) == std::string_view::npos;
}

void encode(AddedSamples::PixelFile kind, const Record& record, Bytes pixels,
            std::vector<std::byte>& file) {
  const auto channels = static_cast<std::uint8_t>(record.channels);
  if (kind == AddedSamples::PixelFile::kPng)
    return encode_png({ImageKind::kRaw, channels, 8, 1, record.width, record.height}, pixels, file);
  const std::string head =
      fmt::format("P{} {} {} 255\n", channels == 1 ? 5 : 6, record.width, record.height);
  const Bytes begin = as_bytes(head);
  file.assign(begin.begin(), begin.end());
  file.insert(file.end(), pixels.begin(), pixels.end());
}

bool is_clean(std::string_view path) { return naming::clean_path(path) == path; }

/// Shards order "a-b" before "a", because a dot follows the key there; other readers do not.
const std::string* clashing(const std::set<std::string, std::less<>>& keys, std::string_view key) {
  for (std::size_t at = key.find('-'); at != std::string_view::npos; at = key.find('-', at + 1)) {
    const auto shorter = keys.find(key.substr(0, at));
    if (shorter != keys.end()) return &*shorter;
  }
  const std::string begin = std::string(key) + '-';
  const auto longer = keys.lower_bound(begin);
  return longer != keys.end() && longer->starts_with(begin) ? &*longer : nullptr;
}

}  // namespace

AddedSamples::AddedSamples(std::vector<std::string> classes, std::vector<TargetRecord> targets,
                           PixelFile pixel_file, const std::filesystem::path& scratch)
    : targets_(std::move(targets)),
      pixel_file_(pixel_file),
      spool_(scratch),
      labels_(std::move(classes)) {}

AddedSamples::Split& AddedSamples::split_of(std::string_view name) {
  const auto found = splits_.find(name);
  if (found != splits_.end()) return found->second;
  if (!name.empty() && !naming::is_split_name(name)) {
    refuse("'" + printable(name) + "' cannot be the name of a split",
           "give letters, digits, '.', '_' and '-', not beginning with a dot", {});
  }
  if (!splits_.empty() && (name.empty() || splits_.contains("")))
    refuse("a sample has a split, another has none", "give all of them a split, or none", {});
  Split& split = splits_[std::string(name)];
  split.listing.split = name;
  return split;
}

void AddedSamples::check_key(const Split& split, std::string_view key) const {
  if (!places_.empty() && key.empty() != keys_.empty())
    refuse("a sample has a key, another has none", "give all of them a key, or none", key);
  if (key.empty()) return;
  if (!is_key(key)) {
    refuse("'" + printable(key) + "' cannot be a key", "give up to 64 letters, digits, '_' and '-'",
           key);
  }
  if (split.keys.contains(key))
    refuse("a sample with the key '" + std::string(key) + "' was added before",
           "give each sample a key of its own", key);
  if (const std::string* other = clashing(split.keys, key)) {
    refuse("the keys '" + *other + "' and '" + std::string(key) + "' have no order in common",
           "let no key be another one with a '-' behind it", key);
  }
}

void AddedSamples::check_fields(const NewSample& sample) const {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const Field& field : sample.fields) {
    names.emplace_back(field.name);
    bytes += field.bytes.size();
  }
  const std::size_t given = names.size();
  if (checked_fields(names, {}).size() != given)
    refuse("a field is given twice", "give each field once", sample.key);
  names.insert(names.end(), fields_.begin(), fields_.end());
  sorted_fields(std::move(names), {});  // refuses too many
  if (bytes > ~std::uint32_t{0})
    refuse("the extra fields have more than 4 GiB together", "store less in them", sample.key);
}

std::size_t AddedSamples::field_number(std::string_view name) {
  const auto found = std::ranges::find(fields_, name);
  if (found == fields_.end()) {
    fields_.emplace_back(name);
    return fields_.size() - 1;
  }
  return static_cast<std::size_t>(found - fields_.begin());
}

/// Unless it is given, the path makes unpack() write class folders, as pack() reads them.
std::string AddedSamples::path_of(const NewSample& sample, std::int64_t label,
                                  ImageKind kind) const {
  if (!sample.path.empty()) return std::string(sample.path);
  const std::string name = labels_.class_of(label);
  const bool folder =
      is_clean(name) && name.find('/') == std::string::npos && !naming::is_hidden(name);
  const std::string file = (sample.key.empty() ? key_of(size()) : std::string(sample.key)) +
                           std::string(extension_of(kind));
  return naming::join(folder ? name : "class-" + std::to_string(label), file);
}

void AddedSamples::append(const NewSample& sample, EntryTable::Facts& facts) {
  Record record{.image_bytes = sample.image.size(),
                .fields = static_cast<std::uint32_t>(sample.fields.size())};
  if (sample.pixels) {
    record.width = sample.pixels->width;
    record.height = sample.pixels->height;
    record.channels = sample.pixels->channels;
  }
  facts.stamp = mix_stamp(static_cast<std::int64_t>(xxh3(bytes_of(record))), xxh3(sample.image));
  const std::uint64_t begin = spool_.append(bytes_of(record));
  for (const Field& field : sample.fields) {
    const FieldRecord one{field_number(field.name), field.bytes.size()};
    spool_.append(bytes_of(one));
    static_cast<void>(facts.add_field(one.number, one.bytes));  // check_fields() has added them up
    facts.stamp = mix_stamp(facts.stamp, xxh3(field.bytes));
  }
  spool_.append(sample.image);
  for (const Field& field : sample.fields) spool_.append(field.bytes);
  places_.push_back(begin);
}

void AddedSamples::add(const NewSample& sample, ImageKind kind) {
  if (!sample.path.empty() && !is_clean(sample.path)) {
    refuse("'" + printable(sample.path) + "' cannot be a path in a dataset",
           "give a relative path without '..', doubled slashes and a slash at the end", sample.key);
  }
  check_fields(sample);
  const bool first = !splits_.contains(sample.split);
  Split& split = split_of(sample.split);
  EntryTable::Facts facts{.size = sample.image.size(), .locator = size()};
  try {
    check_key(split, sample.key);
    facts.label = labels_.number(sample.label);
  } catch (...) {
    if (first) splits_.erase(splits_.find(sample.split));
    throw;
  }
  const std::string path = path_of(sample, facts.label, kind);
  append(sample, facts);
  const auto [directory, name] = naming::directory_and_name(path);
  split.listing.entries.add(directory, name, facts);
  if (!sample.key.empty()) keys_.push_back(&*split.keys.emplace(sample.key).first);
}

void AddedSamples::sort_by_key(SplitListing& listing) const {
  std::vector<std::size_t> order(listing.entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key_at = [&](std::size_t i) -> const std::string& {
    return *keys_[listing.entries.facts(i).locator];
  };
  const auto less = [&](std::size_t a, std::size_t b) { return key_at(a) < key_at(b); };
  if (std::ranges::is_sorted(order, less)) return;
  std::ranges::sort(order, less);
  EntryTable sorted;
  for (const std::size_t i : order) sorted.add_from(listing.entries, i);
  listing.entries = std::move(sorted);
}

Listing AddedSamples::list(const ListOptions&) {
  spool_.seal();
  Listing listing;
  listing.classes = labels_.finish();
  listing.fields = sorted_fields(fields_, {});
  listing.targets = targets_;
  for (const std::string& name : fields_) {
    const auto at = std::lower_bound(listing.fields.begin(), listing.fields.end(), name);
    field_of_.push_back(static_cast<unsigned>(at - listing.fields.begin()));
  }
  for (auto& [name, split] : splits_) {
    SplitListing& made = listing.splits.emplace_back(std::move(split.listing));
    made.entries.relabel([&](std::size_t i) { return labels_.label(made.entries.label_of(i)); });
    made.entries.renumber_fields(field_of_);
    if (ordered()) sort_by_key(made);
  }
  return listing;
}

void AddedSamples::read(const SplitListing& split, std::size_t i, Input& out) const {
  std::uint64_t at = places_.at(split.entries.facts(i).locator);
  Record record;
  const auto take = [&](std::span<std::byte> into) {
    spool_.read(at, into);
    at += into.size();
  };
  take(std::as_writable_bytes(std::span(&record, 1)));
  std::array<FieldRecord, kMaxFields> fields;
  take(std::as_writable_bytes(std::span(fields).first(record.fields)));
  out.image = {};
  out.bytes.resize(record.image_bytes);
  take(out.bytes);
  if (record.channels != 0) {
    thread_local std::vector<std::byte> pixels;
    pixels.swap(out.bytes);
    encode(pixel_file_, record, pixels, out.bytes);
  }
  out.fields = record.fields;
  if (out.extras.size() < out.fields) out.extras.resize(out.fields);
  for (std::size_t f = 0; f < out.fields; ++f) {
    out.extras[f].field = field_of_.at(fields[f].number);
    out.extras[f].bytes.resize(fields[f].bytes);
    take(out.extras[f].bytes);
  }
  std::sort(out.extras.begin(), out.extras.begin() + static_cast<std::ptrdiff_t>(out.fields),
            [](const Input::Extra& a, const Input::Extra& b) { return a.field < b.field; });
}

std::string AddedSamples::key(const SplitListing& split, std::size_t i) const {
  return *keys_.at(split.entries.facts(i).locator);
}

}  // namespace packhorse

#include "verify/adopted.h"

#include <unordered_map>

#include "base/hash.h"
#include "dataset/class_list.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "formats/foreign_shard.h"
#include "labels/shard_labels.h"
#include "listing/names.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

ForeignOptions options_of(const Manifest& manifest) {
  const auto array = [&](const char* name) {
    const auto found = manifest.adopted->arrays.find(name);
    return found == manifest.adopted->arrays.end() ? std::string() : found->second;
  };
  return {{array("images"), array("offsets"), array("labels"), array("keys")}, {manifest.fields}};
}

bool fields_fit(const ForeignShard& shard, const FoundSample& found, const StoredSample& stored,
                const ShardIndex& index, std::size_t row) {
  std::size_t given = 0;
  for (std::size_t field = 0; field < index.fields().size(); ++field) {
    if (!index.has_field(row, field)) continue;
    if (given == found.fields.size() || given == stored.fields.size()) return false;
    const auto& [number, range] = found.fields[given];
    const Field& bytes = stored.fields[given++];
    if (shard.fields()[number] != index.fields()[field] || bytes.name != index.fields()[field] ||
        range != index.field_range(row, field) ||
        xxh3(bytes.bytes) != index.field_hash(row, field)) {
      return false;
    }
  }
  return given == found.fields.size() && given == stored.fields.size();
}

}  // namespace

std::string key_prefix(const Adoption& adoption, const ShardRecord& record) {
  if (!adoption.qualified_keys) return {};
  return record.index.substr(0, record.index.size() - kIndexSuffix.size()) + '/';
}

void check_adopted(const fs::path& dataset, const Manifest& manifest, const ShardRecord& record,
                   const ShardIndex& index, const std::function<void(std::size_t row)>& at,
                   const std::function<void(std::size_t row, Bytes image)>& intact,
                   const std::function<void(const std::string&, bool about_bytes)>& differs) {
  const ForeignFormat* format = find_foreign_format(manifest.format);
  if (format == nullptr)
    return differs("adopted shards cannot have the format " + manifest.format, false);
  const auto shard = format->open(dataset / record.file, options_of(manifest));
  if (shard->layout() != manifest.adopted->layout)
    differs("the shard's layout is not the one in the manifest", false);
  const auto classes = naming::labels_of(classes_of(DatasetDirectory(dataset), manifest));
  const bool labelled = manifest.adopted->labels == Adoption::kFromShards;
  const std::string prefix = key_prefix(*manifest.adopted, record);
  std::size_t row = 0;
  for (std::size_t i = 0; i < shard->size() && row < index.size(); ++i) {
    at(row);
    const FoundSample found = shard->found(i);
    if (prefix + found.key != index.key(row) || found.image != index.range(row)) continue;
    const StoredSample stored = shard->read(i);
    if (stored.key != found.key) differs("shard and index disagree about the key", false);
    if (xxh3(stored.bytes) == index.hash(row)) {
      intact(row, stored.bytes);
    } else {
      differs("shard and index disagree about the image's bytes", true);
    }
    if (labelled && label_among(found.label, classes) != index.label(row))
      differs("shard and index disagree about the label", false);
    if (!fields_fit(*shard, found, stored, index, row))
      differs("shard and index disagree about the fields", true);
    ++row;
  }
  if (row < index.size())
    differs("the shard has no such sample, or has it in another place", false);
}

}  // namespace packhorse

#include "made_dataset.h"

#include "base/file.h"
#include "base/hash.h"
#include "dataset/class_list.h"
#include "dataset/shard_index.h"
#include "sources/source.h"
#include "support.h"

namespace packhorse::test {

namespace fs = std::filesystem;

void add(ShardWriter& writer, const Row& row, const std::vector<std::string>& field_names) {
  std::vector<Field> fields;
  for (std::size_t f = 0; f < row.fields.size(); ++f) {
    if (row.fields[f]) fields.push_back({field_names[f], as_bytes(*row.fields[f])});
  }
  writer.add({row.key, row.label, row.image, as_bytes(row.bytes), fields});
}

ShardRecord MadeDataset::write_shard(const fs::path& path, std::size_t shard) const {
  const Format& kind = find_format(format);
  const std::size_t first = shard * shard_samples;
  const std::size_t end = std::min(rows.size(), first + shard_samples);
  ShardRecord record;
  record.file = "shard-" + std::to_string(shard) + std::string(suffix_of(kind, zstd_level));
  record.index = "shard-" + std::to_string(shard) + ".index";
  record.samples = end - first;
  record.first_sample = first;
  const auto writer = kind.open_writer(path / record.file, {classes, fields, zstd_level});
  for (std::size_t i = first; i < end; ++i) add(*writer, rows[i], fields);
  const ShardLayout layout = writer->close();

  ShardIndexWriter index(fields, zstd_level != 0);
  for (std::size_t i = first; i < end; ++i) {
    const Row& row = rows[i];
    IndexEntry entry{layout.images[i - first],
                     xxh3(as_bytes(row.bytes)),
                     row.label,
                     row.image,
                     row.key,
                     row.path};
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const bool present = f < row.fields.size() && row.fields[f];
      entry.fields.push_back(layout.fields[(i - first) * fields.size() + f]);
      entry.field_hashes.push_back(present ? xxh3(as_bytes(*row.fields[f])) : 0);
    }
    if (zstd_level != 0) entry.frame = layout.frames[i - first];
    index.add(entry);
  }
  record.bytes = fs::file_size(path / record.file);
  record.sha256 = sha256_file(path / record.file);
  const std::string text = index.serialise(record.bytes);
  put(path / record.index, text);
  record.index_bytes = text.size();
  record.index_sha256 = sha256(as_bytes(text));
  return record;
}

void MadeDataset::write(const fs::path& path) const {
  make_directories(path);
  Manifest manifest;
  manifest.version = "made";
  manifest.format = format;
  manifest.format_version = find_format(format).version;
  manifest.image = image_mode;
  if (zstd_level != 0) manifest.compress = "zstd:" + std::to_string(zstd_level);
  manifest.fields = fields;
  manifest.samples = rows.size();
  manifest.class_samples.resize(classes.size());
  for (const Row& row : rows) {
    manifest.payload_bytes += row.bytes.size();
    ++manifest.class_samples.at(static_cast<std::size_t>(row.label));
  }
  manifest.accounting.seen = manifest.accounting.packed = rows.size();
  for (std::size_t shard = 0; shard * shard_samples < rows.size(); ++shard)
    manifest.shards.push_back(write_shard(path, shard));
  const std::string names = class_list_text(classes);
  put(path / kClassesName, names);
  manifest.files.push_back({std::string(kClassesName), names.size(), sha256(as_bytes(names))});
  put_manifest(path, manifest);
}

void put_manifest(const fs::path& dataset, const Manifest& manifest) {
  put(dataset / kManifestName, manifest.serialise());
  put(dataset / kSumsName, manifest.sums());
}

}  // namespace packhorse::test

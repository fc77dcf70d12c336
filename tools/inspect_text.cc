#include "inspect_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/terminal.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;
using program::Json;
using program::with_commas;

namespace {

constexpr std::size_t kShardsShown = 8;

/// How many images of each kind, by the indexes.
std::map<std::string, std::uint64_t> kinds_of(const PackedDataset& dataset) {
  std::map<std::string, std::uint64_t> kinds;
  for (std::size_t shard = 0; shard < dataset.shards(); ++shard) {
    const ShardIndex& index = dataset.index(shard);
    std::array<std::uint64_t, 256> counts{};
    for (std::size_t row = 0; row < index.size(); ++row)
      ++counts[static_cast<std::uint8_t>(index.image(row).kind)];
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind] > 0)
        kinds[std::string(name_of(static_cast<ImageKind>(kind)))] += counts[kind];
    }
  }
  return kinds;
}

/// How many samples have each field, by its place in the dataset's list.
std::vector<std::uint64_t> samples_with_fields(const PackedDataset& dataset) {
  std::vector<std::uint64_t> counts(dataset.fields().size());
  for (std::size_t shard = 0; shard < dataset.shards(); ++shard) {
    const ShardIndex& index = dataset.index(shard);
    for (std::size_t row = 0; row < index.size(); ++row) {
      for (std::size_t field = 0; field < counts.size(); ++field)
        if (index.has_field(row, field)) ++counts[field];
    }
  }
  return counts;
}

Json fields_json(const ShardIndex& index, std::size_t row) {
  Json fields = Json::array();
  for (std::size_t field = 0; field < index.fields().size(); ++field) {
    if (!index.has_field(row, field)) continue;
    const ByteRange range = index.field_range(row, field);
    fields.push_back({{"name", index.fields()[field]},
                      {"bytes", range.length},
                      {"offset", range.offset},
                      {"xxh3", fmt::format("{:016x}", index.field_hash(row, field))}});
  }
  return fields;
}

std::string class_name(const PackedDataset& dataset, std::int64_t label) {
  const auto at = static_cast<std::size_t>(label);
  return at < dataset.classes().size() ? dataset.classes()[at] : "?";
}

std::uint64_t shard_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ShardRecord& shard : manifest.shards) bytes += shard.bytes;
  return bytes;
}

std::string class_words(const PackedDataset& dataset) {
  const std::vector<std::uint64_t>& counts = dataset.manifest().class_samples;
  if (counts.empty()) return "none";
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const auto name = [&](auto at) {
    return dataset.classes()[static_cast<std::size_t>(at - counts.begin())];
  };
  if (*least == *most)
    return fmt::format("{}, each with {} images", counts.size(), with_commas(*least));
  return fmt::format("{}, from {} images ({}) to {} ({})", counts.size(), with_commas(*least),
                     name(least), with_commas(*most), name(most));
}

std::string field_words(const PackedDataset& dataset) {
  const std::vector<std::uint64_t> counts = samples_with_fields(dataset);
  std::string words;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    words += fmt::format("{}{} in {}", i == 0 ? "" : ", ", dataset.fields()[i],
                         counts[i] == dataset.size() ? "all" : with_commas(counts[i]));
  }
  return words;
}

}  // namespace

Json summary_json(const PackedDataset& dataset) {
  const Manifest& m = dataset.manifest();
  Json classes = Json::array(), shards = Json::array(), kinds = Json::object();
  Json fields = Json::array();
  for (std::size_t i = 0; i < dataset.classes().size(); ++i) {
    classes.push_back({{"name", dataset.classes()[i]}, {"samples", m.class_samples[i]}});
  }
  for (const ShardRecord& s : m.shards) {
    shards.push_back(
        {{"file", s.file}, {"samples", s.samples}, {"bytes", s.bytes}, {"sha256", s.sha256}});
  }
  for (const auto& [kind, count] : kinds_of(dataset)) kinds[kind] = count;
  const std::vector<std::uint64_t> with_field = samples_with_fields(dataset);
  for (std::size_t i = 0; i < m.fields.size(); ++i)
    fields.push_back({{"name", m.fields[i]}, {"samples", with_field[i]}});
  return {{"path", dataset.path().string()},
          {"format", m.format},
          {"compress", m.compress},
          {"image", m.image},
          {"image_settings", m.image_settings},
          {"fields", fields},
          {"split", m.split},
          {"samples", m.samples},
          {"classes", classes},
          {"bytes", shard_bytes(m)},
          {"payload_bytes", m.payload_bytes},
          {"kinds", kinds},
          {"accounting",
           {{"seen", m.accounting.seen},
            {"packed", m.accounting.packed},
            {"rejected", m.accounting.rejected},
            {"skipped", m.accounting.skipped}}},
          {"shards", shards},
          {"id", m.id()},
          {"packhorse", m.version}};
}

std::string summary_text(const PackedDataset& dataset) {
  const Manifest& m = dataset.manifest();
  std::string kinds;
  for (const auto& [kind, count] : kinds_of(dataset)) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", with_commas(count), kind);
  }
  std::string text = fmt::format("{}\n", dataset.path().string());
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<8} {}\n", name, value);
  };
  line("format",
       fmt::format("{}{}{}, images {}{}{}", m.format, m.compress.empty() ? "" : ", ", m.compress,
                   m.image, m.image_settings.empty() ? "" : ", ", m.image_settings));
  line("samples", fmt::format("{} in {}, {} of images in {} of shards", with_commas(m.samples),
                              count_text(m.shards.size(), "shard"), bytes_text(m.payload_bytes),
                              bytes_text(shard_bytes(m))));
  line("classes", class_words(dataset));
  line("kinds", kinds);
  if (!m.fields.empty()) line("fields", field_words(dataset));
  line("source",
       fmt::format("seen {} = packed {} + rejected {} + skipped {}", with_commas(m.accounting.seen),
                   with_commas(m.accounting.packed), with_commas(m.accounting.rejected),
                   with_commas(m.accounting.skipped)));
  line("order", m.shuffle ? fmt::format("shuffled, seed {}", m.seed) : "by path");
  line("id", m.id());
  line("made by", "packhorse " + m.version);
  std::vector<std::vector<std::string>> rows = {{"  shard", "samples", "size", "sha256"}};
  for (std::size_t i = 0; i < m.shards.size() && i < kShardsShown; ++i) {
    const ShardRecord& shard = m.shards[i];
    rows.push_back({"  " + shard.file, with_commas(shard.samples), bytes_text(shard.bytes),
                    shard.sha256.substr(0, 12)});
  }
  text += program::table_text(rows);
  if (m.shards.size() > kShardsShown)
    text += fmt::format("  ... and {} more\n", m.shards.size() - kShardsShown);
  return text;
}

Json sample_json(const PackedDataset& dataset, std::size_t sample) {
  const PackedDataset::Place at = dataset.place(sample);
  const ShardIndex& index = dataset.index(at.shard);
  const ImageInfo image = index.image(at.row);
  Json json = {{"sample", sample},
               {"key", index.key(at.row)},
               {"label", index.label(at.row)},
               {"class", class_name(dataset, index.label(at.row))},
               {"bytes", index.range(at.row).length},
               {"width", image.width},
               {"height", image.height},
               {"components", image.components},
               {"orientation", image.orientation},
               {"kind", name_of(image.kind)},
               {"shard", dataset.manifest().shards[at.shard].file},
               {"offset", index.range(at.row).offset},
               {"xxh3", fmt::format("{:016x}", index.hash(at.row))},
               {"path", index.path(at.row)}};
  if (!index.fields().empty()) json["fields"] = fields_json(index, at.row);
  // Offsets are then of what the frame decompresses to, together with those before it.
  if (index.compressed()) {
    const Frame frame = index.frame(at.row);
    json["frame"] = {{"offset", frame.stored.offset},
                     {"bytes", frame.stored.length},
                     {"content_offset", frame.content.offset},
                     {"content_bytes", frame.content.length}};
  }
  return json;
}

std::string sample_line(const PackedDataset& dataset, std::size_t sample) {
  const PackedDataset::Place at = dataset.place(sample);
  const ShardIndex& index = dataset.index(at.shard);
  const ImageInfo image = index.image(at.row);
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}x{}\t{}\t{}\n", sample, index.key(at.row),
                     index.label(at.row), class_name(dataset, index.label(at.row)),
                     index.range(at.row).length, image.width, image.height, name_of(image.kind),
                     index.path(at.row));
}

}  // namespace packhorse

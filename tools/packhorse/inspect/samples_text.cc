#include <fmt/format.h>

#include "base/printable.h"
#include "common/terminal.h"
#include "dataset/shard_index.h"
#include "inspect/summary_text.h"

namespace packhorse::inspect {

using program::Json;

namespace {

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

}  // namespace

std::string class_name(const PackedDataset& dataset, std::int64_t label) {
  const auto at = static_cast<std::size_t>(label);
  return at < dataset.classes().size() ? dataset.classes()[at] : "?";
}

Json sample_json(const PackedDataset& dataset, std::size_t sample) {
  const PackedDataset::Place at = dataset.place(sample);
  const auto held = dataset.index(at.shard);
  const ShardIndex& index = *held;
  const ImageInfo image = index.image(at.row);
  Json json = {{"sample", sample},
               {"key", index.key(at.row)},
               {"label", index.label(at.row)},
               {"class", class_name(dataset, index.label(at.row))},
               {"bytes", index.range(at.row).length},
               {"width", image.width},
               {"height", image.height},
               {"components", image.components},
               {"bits", image.bit_depth},
               {"orientation", image.orientation},
               {"kind", name_of(image.kind)},
               {"shard", dataset.manifest().shards[at.shard].file},
               {"offset", index.range(at.row).offset},
               {"xxh3", fmt::format("{:016x}", index.hash(at.row))},
               {"path", index.path(at.row)}};
  if (!index.fields().empty()) json["fields"] = fields_json(index, at.row);
  // Offsets then count in the decompressed content of this frame and of all before it.
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
  const auto held = dataset.index(at.shard);
  const ShardIndex& index = *held;
  const ImageInfo image = index.image(at.row);
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}x{}\t{}\t{}\n", sample, printable(index.key(at.row)),
                     index.label(at.row), printable(class_name(dataset, index.label(at.row))),
                     index.range(at.row).length, image.width, image.height, name_of(image.kind),
                     printable(index.path(at.row)));
}

}  // namespace packhorse::inspect

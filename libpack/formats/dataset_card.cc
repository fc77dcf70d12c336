#include "formats/dataset_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "dataset/class_list.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

struct Part {
  std::string folder;  ///< "" for the directory itself
  Manifest manifest;
  std::vector<std::string> classes;
  std::set<std::string> extensions;  ///< of the images, without the dot
};

bool has_card(const Manifest& manifest) {
  return exported_indexes_of(manifest.format) != nullptr && manifest.compress.empty();
}

std::set<ImageKind> kinds_in(const DatasetDirectory& dataset, const Manifest& manifest) {
  std::set<ImageKind> kinds;
  for (const ShardRecord& record : manifest.shards) {
    const ShardIndex index = open_index(dataset, record, manifest);
    for (std::size_t i = 0; i < index.size(); ++i) kinds.insert(index.image(i).kind);
  }
  return kinds;
}

/// Returns nothing for shards that `datasets` cannot read.
std::optional<Part> open_part(const fs::path& directory, const CardPart& card) {
  const DatasetDirectory dataset(card.path);
  Part part{
      card.path == directory ? "" : card.path.filename().string(), Manifest::load(dataset), {}, {}};
  if (!has_card(part.manifest)) return std::nullopt;
  part.classes = classes_of(dataset, part.manifest);
  if (part.manifest.adopted) return part;  // its members may have any extensions
  for (const ImageKind kind : card.kinds ? *card.kinds : kinds_in(dataset, part.manifest))
    part.extensions.emplace(extension_of(kind).substr(1));
  return part;
}

/// JSON's strings are YAML's, too, when what cannot be printed is not in them.
std::string quoted(const std::string& text) { return utf8_json(nlohmann::json(text)); }

/// The name of a split as `datasets` allows it: letters, digits and "_", and not "all". No two
/// names become one.
std::string split_name(const std::string& folder, std::set<std::string>& taken) {
  std::string name = folder.empty() ? "train" : folder;
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  if (name == "all") name += '_';
  while (!taken.insert(name).second) name += '_';
  return name;
}

/// A file's name as a pattern that matches it alone.
std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[') {
      pattern += fmt::format("[{}]", c);
    } else {
      pattern += c;
    }
  }
  return pattern;
}

std::string data_files(const std::vector<Part>& parts) {
  std::string text = "configs:\n- config_name: default\n  data_files:\n";
  std::set<std::string> taken;
  for (const Part& part : parts) {
    const std::string folder = part.folder.empty() ? "" : part.folder + "/";
    text += "  - split: " + quoted(split_name(part.folder, taken)) + "\n    path:";
    if (!part.manifest.adopted) {
      text += " " + quoted(folder + "*.tar") + "\n";
      continue;
    }
    text += "\n";
    for (const ShardRecord& record : part.manifest.shards)
      text += "    - " + quoted(as_pattern(folder + record.file)) + "\n";
  }
  return text;
}

/// The type of an extra field as `datasets` decodes it; nothing where that depends on its content.
std::optional<std::string> field_type(const std::string& field) {
  static constexpr std::array<std::string_view, 9> kImages = {"bmp", "jpeg", "jpg",  "pgm", "png",
                                                              "ppm", "tif",  "tiff", "webp"};
  const std::string last = field.substr(field.rfind('.') + 1);
  if (std::ranges::find(kImages, last) != kImages.end()) return "image";
  if (last == "txt") return "string";
  return std::nullopt;
}

bool is_yaml_text(const std::string& name) {
  return is_utf8(name) && printable_text(name) == name &&
         name.find("\xef\xbf\xbe") == std::string::npos &&
         name.find("\xef\xbf\xbf") == std::string::npos;
}

std::string label_type(const std::vector<Part>& parts) {
  const std::vector<std::string>& classes = parts.front().classes;
  const bool same =
      std::ranges::all_of(parts, [&](const Part& part) { return part.classes == classes; });
  if (!same || !std::ranges::all_of(classes, is_yaml_text)) return " int64\n";
  std::string text = "\n      class_label:\n        names:\n";
  for (std::size_t label = 0; label < classes.size(); ++label)
    text += fmt::format("          \"{}\": {}\n", label, quoted(classes[label]));
  return text;
}

/// The columns. Without them `datasets` takes those of the first sample, and images of other kinds
/// are lost. Empty where the type of one is unknown.
std::string features(const std::vector<Part>& parts) {
  std::set<std::string> images, fields;
  for (const Part& part : parts) {
    images.insert(part.extensions.begin(), part.extensions.end());
    fields.insert(part.manifest.fields.begin(), part.manifest.fields.end());
    if (part.manifest.adopted) return {};
  }
  std::string text = "dataset_info:\n  features:\n";
  const auto add = [&](const std::string& name, const std::string& type) {
    text += "  - name: " + quoted(name) + "\n    dtype:" + type;
  };
  for (const std::string& extension : images) {
    if (extension == extension_of(ImageKind::kRaw).substr(1)) return {};  // of what size?
    add(extension, " image\n");
  }
  add("cls", label_type(parts));
  for (const std::string& field : fields) {
    const std::optional<std::string> type = field_type(field);
    if (!type) return {};
    if (!images.contains(field)) add(field, " " + *type + "\n");
  }
  for (const char* name : {"__key__", "__url__"}) add(name, " string\n");
  return text;
}

std::string card_text(const std::vector<Part>& parts) {
  std::uint64_t samples = 0;
  for (const Part& part : parts) samples += part.manifest.samples;
  return fmt::format(
      "---\n{}{}---\n\n"
      "# {} images in {} classes\n\n"
      "WebDataset shards written by packhorse. With this file, `datasets.load_dataset` finds them "
      "by the path of this\n"
      "directory. An image is in the column of its kind (`jpg`, `png`, ...); the other image "
      "columns are empty. packhorse\n"
      "itself does not read this file: edit it as you like.\n",
      data_files(parts), features(parts), samples, parts.front().classes.size());
}

}  // namespace

CardOutcome write_card(const fs::path& directory, const std::vector<CardPart>& datasets) {
  std::vector<Part> parts;
  for (const CardPart& dataset : datasets) {
    std::optional<Part> part = open_part(directory, dataset);
    if (!part) return CardOutcome::kNone;
    if (part->manifest.samples > 0) parts.push_back(std::move(*part));
  }
  if (parts.empty()) return CardOutcome::kNone;
  const std::string text = card_text(parts);
  const fs::path card = directory / kCardName;
  if (fs::exists(fs::symlink_status(card))) {
    const bool same = fs::is_regular_file(fs::symlink_status(card)) &&
                      fs::file_size(card) == text.size() && read_text(card) == text;
    return same ? CardOutcome::kUnchanged : CardOutcome::kKept;
  }
  write_file(card, as_bytes(text));
  return CardOutcome::kWritten;
}

}  // namespace packhorse

#include "inspect/summary_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/option.h"
#include "base/printable.h"
#include "inspect/chart.h"

namespace packhorse::inspect {

using program::bytes_text;
using program::count_text;
using program::one_line;
using program::Paint;
using program::with_commas;

namespace {

constexpr std::size_t kShardsShown = 8;
constexpr std::size_t kNameColumns = 40;

std::uint64_t shard_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ShardRecord& shard : manifest.shards) bytes += shard.bytes;
  return bytes;
}

std::string class_words(const PackedDataset& dataset, const ClassBalance& classes) {
  const auto name = [&](std::size_t label) {
    return one_line(dataset.classes()[label], kNameColumns);
  };
  const std::size_t count = dataset.classes().size();
  const std::string empty =
      classes.empty == 0 ? "" : fmt::format("; {} empty", with_commas(classes.empty));
  if (classes.most == classes.least) {
    return fmt::format("{}, each with {}{}", with_commas(count), count_text(classes.most, "image"),
                       empty);
  }
  return fmt::format("{}, from {} ({}) to {} images ({}): {:.1f} times as many{}",
                     with_commas(count), with_commas(classes.least), name(classes.smallest),
                     with_commas(classes.most), name(classes.largest), classes.ratio(), empty);
}

std::string kind_words(const Summary& summary) {
  std::string words;
  for (const auto& [kind, count] : summary.kinds)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", with_commas(count), kind);
  return words;
}

std::string colour_name(int components) {
  constexpr std::array kNames = {"of unknown colours", "grey", "grey with alpha", "colour",
                                 "colour with alpha or CMYK"};
  const auto at = static_cast<std::size_t>(components);
  return at < kNames.size() ? kNames[at] : fmt::format("of {} bands", components);
}

std::string colour_words(const Summary& summary) {
  std::string words;
  for (const auto& [components, count] : summary.components) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", with_commas(count),
                         colour_name(components));
  }
  if (summary.turned > 0)
    words += fmt::format("; {} rotated when shown, by their EXIF", with_commas(summary.turned));
  return words;
}

std::string size_words(const Summary& summary) {
  if (summary.width.size() == 0) return "not known";
  if (summary.one_size()) {
    return fmt::format("all {} x {} pixels", summary.width.least(), summary.height.least());
  }
  return fmt::format(
      "short side {} to {} pixels, median {}", with_commas(summary.short_side.least()),
      with_commas(summary.short_side.most()), with_commas(summary.short_side.median()));
}

std::string byte_words(const Summary& summary) {
  if (summary.bytes.least() == summary.bytes.most())
    return fmt::format("{} per image", bytes_text(summary.bytes.least()));
  return fmt::format("{} to {} per image, median {}", bytes_text(summary.bytes.least()),
                     bytes_text(summary.bytes.most()), bytes_text(summary.bytes.median()));
}

std::string field_words(const PackedDataset& dataset, const Summary& summary) {
  std::string words;
  for (std::size_t i = 0; i < summary.field_samples.size(); ++i) {
    const std::uint64_t count = summary.field_samples[i];
    words += fmt::format("{}{} in {}", i == 0 ? "" : ", ", dataset.fields()[i],
                         count == dataset.size() ? "all" : with_commas(count));
  }
  return words;
}

std::string target_words(const TargetRecord& target) {
  constexpr std::size_t kShown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(target.classes.size(), kShown); ++i)
    names += (i == 0 ? ": " : ", ") + printable(target.classes[i]);
  if (target.classes.size() > kShown) names += ", ...";
  const std::string classes = count_text(target.classes.size(), "class") + names;
  const std::string field = printable(target.name);
  if (target.kind == kClassesTarget) return "several of " + classes;
  if (target.kind == kCaptionTarget) return "captions, field " + field;
  if (target.kind == kMaskTarget)
    return fmt::format("masks of pixels, field {}{}", field,
                       target.classes.empty() ? "" : ", of " + classes);
  return field + " of " + classes;
}

std::string options_text(const Manifest& m) {
  std::string text;
  for (const auto& [name, value] : recorded_options(m)) text += " " + opt(name, value);
  return text;
}

std::string shards_text(const Manifest& m, const program::Style& style) {
  if (m.shards.size() > kShardsShown) {
    const auto [fewest, most] = std::minmax_element(
        m.shards.begin(), m.shards.end(), [](auto& a, auto& b) { return a.samples < b.samples; });
    const auto [least, largest] = std::minmax_element(
        m.shards.begin(), m.shards.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; });
    const auto range = [](const std::string& from, const std::string& to) {
      return from == to ? from : from + " to " + to;
    };
    return fmt::format("  {} to {}, each of {} samples and {}; --json has all\n",
                       printable(m.shards.front().file), printable(m.shards.back().file),
                       range(with_commas(fewest->samples), with_commas(most->samples)),
                       range(bytes_text(least->bytes), bytes_text(largest->bytes)));
  }
  std::vector<std::vector<std::string>> rows = {{"  shard", "samples", "size", "sha256"}};
  for (const ShardRecord& shard : m.shards) {
    rows.push_back({"  " + shard.file, with_commas(shard.samples), bytes_text(shard.bytes),
                    shard.sha256.substr(0, 12)});
  }
  const std::string table = program::table_text(rows);
  const std::size_t head = table.find('\n');
  return painted(table.substr(0, head), Paint::kStrong, style) + table.substr(head);
}

}  // namespace

Lines summary_lines(const PackedDataset& dataset, const Summary& summary,
                    const std::optional<ObjectStats>& objects) {
  const Manifest& m = dataset.manifest();
  Lines lines = {
      {"format",
       fmt::format("{}{}{}, images {}{}{}", m.format, m.compress.empty() ? "" : ", ", m.compress,
                   m.image, m.image_settings.empty() ? "" : ", ", m.image_settings)},
      {"samples", fmt::format("{} in {}, {} of images in {} of shards", with_commas(m.samples),
                              count_text(m.shards.size(), "shard"), bytes_text(m.payload_bytes),
                              bytes_text(shard_bytes(m)))},
      {"classes", class_words(dataset, summary.classes)},
      {"kinds", kind_words(summary)},
      {"colours", colour_words(summary)},
      {"sizes", size_words(summary)},
      {"bytes", byte_words(summary)}};
  if (!m.fields.empty()) lines.emplace_back("fields", field_words(dataset, summary));
  for (const TargetRecord& target : m.targets) lines.emplace_back("targets", target_words(target));
  if (objects) {
    const Lines more = object_lines(*objects, dataset.size());
    lines.insert(lines.end(), more.begin(), more.end());
  }
  lines.emplace_back(
      "source", fmt::format("seen {} = packed {} + rejected {} + skipped {}",
                            with_commas(m.accounting.seen), with_commas(m.accounting.packed),
                            with_commas(m.accounting.rejected), with_commas(m.accounting.skipped)));
  lines.emplace_back("order", m.adopted   ? "as adopted"
                              : m.shuffle ? fmt::format("shuffled, seed {}", m.seed)
                                          : "by path");
  if (m.adopted) {
    lines.emplace_back(
        "adopted", fmt::format("layout {}, labels from {}{}", m.adopted->layout, m.adopted->labels,
                               m.adopted->qualified_keys ? ", keys with their shard's name" : ""));
  }
  lines.emplace_back("id", m.id());
  lines.emplace_back("made by", m.adopted ? fmt::format("packhorse {}: index SHARDS", m.version)
                                          : fmt::format("packhorse {}: pack SOURCE OUT{}",
                                                        m.version, options_text(m)));
  return lines;
}

std::string summary_text(const PackedDataset& dataset, const Summary& summary,
                         const std::optional<ObjectStats>& objects, const program::Style& style) {
  std::string text = painted(printable(dataset.path().native()), Paint::kStrong, style) + "\n";
  for (const auto& [name, value] : summary_lines(dataset, summary, objects))
    text += painted(fmt::format("  {:<8}", name), Paint::kFaint, style) + " " +
            printable_text(value) + "\n";
  const auto chart = [&](const char* title, const std::vector<ChartRow>& rows,
                         std::uint64_t total) {
    if (rows.size() < 2) return;  // the lines above say as much
    text += painted(fmt::format("  {}", title), Paint::kStrong, style) + "\n" +
            chart_text(rows, total, style);
  };
  chart("images in a class", class_rows(dataset.classes(), dataset.manifest().class_samples),
        dataset.size());
  chart("short side, pixels", value_rows(summary.short_side), dataset.size());
  chart("shape (width : height), rounded", shape_rows(summary), dataset.size());
  chart("size of an image", byte_rows(summary.bytes), dataset.size());
  if (objects) {
    for (const ObjectChart& one : object_charts(*objects)) chart(one.title, one.rows, one.total);
  }
  return text + shards_text(dataset.manifest(), style);
}

}  // namespace packhorse::inspect

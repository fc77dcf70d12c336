#include "inspect/report_page.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "common/terminal.h"
#include "drawing/draw_objects.h"
#include "drawing/encoded.h"
#include "drawing/html.h"
#include "inspect/chart.h"
#include "inspect/summary_text.h"
#include "packhorse/version.h"

namespace packhorse::inspect {

using drawing::Chroma;
using drawing::encoded;
using drawing::escaped;
using drawing::jpeg_uri;
using drawing::kMostDrawn;
using drawing::number_cell;
using drawing::swatch;
using program::bytes_text;
using program::count_text;
using program::with_commas;

namespace {

constexpr std::size_t kFindingsShown = 1000;

std::string cell(std::string_view text) { return "<td>" + escaped(text) + "</td>"; }

std::string with_capital(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string finding_row(const Finding& finding) {
  const bool of_sample = finding.sample >= 0;
  return "<tr>" + cell(name_of(finding.kind)) + cell(finding.shard) +
         number_cell(of_sample ? std::to_string(finding.sample) : "") + cell(finding.key) +
         number_cell(finding.length > 0 ? fmt::format("{} to {}", with_commas(finding.offset),
                                                      with_commas(finding.offset + finding.length))
                                        : "") +
         cell(finding.detail) + "</tr>\n";
}

std::string findings_part(const VerifyReport& report) {
  const std::string checked = fmt::format(
      "{}, {}, {}", count_text(report.files, "file"), count_text(report.samples, "sample"),
      report.bytes == 0 ? "by sizes and indexes only: no image was read"
                        : bytes_text(report.bytes) + " read");
  if (report.ok()) {
    return "<h2>Verification</h2>\n<p><strong class=\"good\">No damage found.</strong> Checked: " +
           checked + ".</p>\n";
  }
  std::string html = fmt::format(
      "<h2>Verification</h2>\n<p><strong class=\"bad\">{}.</strong> Checked: {}.</p>\n<table>\n"
      "<tr><th>kind</th><th>file</th><th>sample</th><th>key</th><th>bytes</th><th>what</th></tr>\n",
      count_text(report.findings.size(), "finding"), checked);
  for (std::size_t i = 0; i < report.findings.size() && i < kFindingsShown; ++i)
    html += finding_row(report.findings[i]);
  html += "</table>\n";
  if (report.findings.size() > kFindingsShown) {
    html += fmt::format(
        "<p class=\"note\">and {} more; <code>packhorse inspect --verify</code> "
        "prints all of them.</p>\n",
        with_commas(report.findings.size() - kFindingsShown));
  }
  return html;
}

std::string charts_part(const ReportSection& section) {
  const PackedDataset& dataset = *section.dataset;
  return "<div class=\"charts\">\n" +
         svg_chart("Images in a class",
                   class_rows(dataset.classes(), dataset.manifest().class_samples),
                   dataset.size()) +
         svg_chart("Short side, pixels", value_rows(section.summary.short_side), dataset.size()) +
         svg_chart("Shape (width : height), rounded", shape_rows(section.summary), dataset.size()) +
         svg_chart("Size of an image", byte_rows(section.summary.bytes), dataset.size()) +
         "</div>\n";
}

/// Charts of the objects, and how many there are of each class, with its colour in the pictures.
std::string objects_part(const ObjectStats& stats) {
  const std::vector<std::string>& classes = stats.target.record.classes;
  std::string html = "<h3>Objects</h3>\n<div class=\"charts\">\n";
  for (const ObjectChart& chart : object_charts(stats))
    html += svg_chart(with_capital(chart.title), chart.rows, chart.total);
  html += fmt::format(
      "</div>\n<details><summary>{} of objects</summary>\n<table>\n"
      "<tr><th></th><th>label</th><th>class</th><th>objects</th><th>share</th></tr>\n",
      count_text(classes.size(), "class"));
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const std::uint64_t count = stats.class_objects[label];
    html += "<tr><td>" + swatch(label) + "</td>" + number_cell(std::to_string(label)) +
            cell(classes[label]) + number_cell(with_commas(count)) +
            number_cell(stats.objects == 0 ? "" : escaped(share_text(count, stats.objects))) +
            "</tr>\n";
  }
  return html + "</table></details>\n";
}

std::string class_table(const PackedDataset& dataset) {
  const std::vector<std::uint64_t>& samples = dataset.manifest().class_samples;
  std::string html = fmt::format(
      "<details><summary>{}</summary>\n<table>\n"
      "<tr><th>label</th><th>class</th><th>images</th><th>share</th></tr>\n",
      count_text(samples.size(), "class"));
  for (std::size_t label = 0; label < samples.size(); ++label) {
    html += "<tr>" + number_cell(std::to_string(label)) + cell(dataset.classes()[label]) +
            number_cell(with_commas(samples[label])) +
            number_cell(escaped(share_text(samples[label], dataset.size()))) + "</tr>\n";
  }
  return html + "</table></details>\n";
}

std::string shard_table(const Manifest& manifest) {
  std::string html = fmt::format(
      "<details><summary>{}</summary>\n<table>\n"
      "<tr><th>file</th><th>samples</th><th>size</th><th>SHA-256</th></tr>\n",
      count_text(manifest.shards.size(), "shard"));
  for (const ShardRecord& shard : manifest.shards) {
    html += "<tr>" + cell(shard.file) + number_cell(with_commas(shard.samples)) +
            number_cell(bytes_text(shard.bytes)) + "<td><code>" + shard.sha256 +
            "</code></td></tr>\n";
  }
  return html + "</table></details>\n";
}

std::string tile_figure(const Tile& tile, bool has_objects) {
  if (!tile.damage.empty()) {
    return fmt::format(
        "<figure><div class=\"picture damaged\" title=\"{}\">damaged</div>"
        "<figcaption>#{}</figcaption></figure>\n",
        escaped(tile.damage), tile.sample);
  }
  std::string caption = fmt::format("#{}, {} &times; {}", tile.sample, tile.width, tile.height);
  if (!tile.bands.empty()) caption += ", " + bands_text(tile.bands);
  if (has_objects) caption += ", " + count_text(tile.objects, "object");
  if (tile.objects > kMostDrawn) caption += ", not all drawn";
  if (!tile.caption.empty()) caption += "<br>" + escaped(tile.caption);
  return fmt::format(
      "<figure><div class=\"picture\"><img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"sample "
      "{}\"></div><figcaption>{}</figcaption></figure>\n",
      jpeg_uri(encoded(tile.picture, has_objects ? Chroma::kFull : Chroma::kHalved)),
      tile.picture.cols, tile.picture.rows, tile.sample, caption);
}

/// The colours of the objects that are shown.
std::string legend_part(const ReportSection& section) {
  std::set<std::size_t> labels;
  for (const ReportClass& one : section.classes)
    for (const Tile& tile : one.tiles)
      labels.insert(tile.object_labels.begin(), tile.object_labels.end());
  std::string html;
  for (const std::size_t label : labels)
    html += "<span>" + swatch(label) + " " +
            escaped(section.objects->target.record.classes[label]) + "</span> ";
  return html.empty() ? html : "<p class=\"legend\">" + html + "</p>\n";
}

std::string pictures_part(const ReportSection& section) {
  if (section.classes.empty()) return {};
  const std::size_t all = section.dataset->classes().size();
  std::string html = "<h3>Pictures</h3>\n";
  if (section.classes.size() < all) {
    html += fmt::format("<p class=\"note\">{} of {} classes, spread over the class list.</p>\n",
                        with_commas(section.classes.size()), with_commas(all));
  }
  if (section.objects) html += legend_part(section);
  for (const ReportClass& one : section.classes) {
    html += fmt::format("<h4>{} <small>{} of {}</small></h4>\n<div class=\"tiles{}\">\n",
                        escaped(section.dataset->classes()[one.picks.label]),
                        with_commas(one.tiles.size()), count_text(one.picks.samples, "image"),
                        section.objects ? " large" : "");
    for (const Tile& tile : one.tiles) html += tile_figure(tile, section.objects.has_value());
    html += "</div>\n";
  }
  return html;
}

std::string section_part(const ReportSection& section, const std::string& heading) {
  std::string html = "<h2>" + escaped(heading) + "</h2>\n";
  if (!section.unreadable.empty()) {
    return html + "<p><strong class=\"bad\">Cannot be opened:</strong> " +
           escaped(section.unreadable) + "</p>\n";
  }
  html += "<table>\n";
  for (const auto& [name, value] :
       summary_lines(*section.dataset, section.summary, section.objects))
    html += "<tr><th>" + escaped(name) + "</th>" + cell(value) + "</tr>\n";
  return html + "</table>\n<h3>Distribution</h3>\n" + charts_part(section) +
         (section.objects ? objects_part(*section.objects) : "") + class_table(*section.dataset) +
         shard_table(section.dataset->manifest()) + pictures_part(section);
}

}  // namespace

std::string report_page(const std::string& title, const std::vector<ReportSection>& sections,
                        const VerifyReport* verification) {
  std::string html;
  if (verification != nullptr) html += findings_part(*verification);
  for (const ReportSection& section : sections)
    html += section_part(section, sections.size() == 1 ? "Summary" : section.path);
  return drawing::html_page(title, "Report of packhorse " + version(), html);
}

}  // namespace packhorse::inspect

#include "inspect/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "drawing/html.h"

namespace packhorse::inspect {

using drawing::escaped;
using program::bytes_text;
using program::with_commas;

namespace {

constexpr int kRow = 22, kLabel = 170, kBar = 270, kChart = 620;  ///< user units of the SVG
constexpr std::size_t kLabelColumns = 24;

constexpr std::size_t kBars = 6;           ///< bars of a histogram, approximately
constexpr std::size_t kClassesShown = 12;  ///< up to this many, all are shown
constexpr std::size_t kLargestShown = 5, kSmallestShown = 3;
constexpr std::size_t kMostLabelColumns = 28;
constexpr int kLeastBar = 8, kMostBar = 40;  ///< columns

/// A bar of `share` of `columns`; never empty, so that small values show.
std::string bar(double share, int columns, const program::Style& style) {
  const double length = share * columns;
  if (!style.blocks) {
    return std::string(std::max<std::size_t>(1, static_cast<std::size_t>(length + 0.5)), '#');
  }
  static constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::max(1, static_cast<int>(length * 8 + 0.5));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[static_cast<std::size_t>(eighths % 8)];
}

/// "64 KiB", without the ".0" of bytes_text(): bars mostly begin at whole units.
std::string edge_text(std::uint64_t bytes) {
  std::string text = bytes_text(bytes);
  const std::size_t zero = text.find(".0 ");
  return zero == std::string::npos ? text : text.erase(zero, 2);
}

}  // namespace

std::vector<ChartRow> value_rows(const ValueCounts& values) {
  std::vector<ChartRow> rows;
  for (const Bin& bin : values.bins(kBars)) {
    rows.push_back({bin.end - bin.begin == 1
                        ? with_commas(bin.begin)
                        : fmt::format("{}-{}", with_commas(bin.begin), with_commas(bin.end - 1)),
                    bin.count});
  }
  return rows;
}

std::vector<ChartRow> byte_rows(const ValueCounts& values) {
  std::vector<ChartRow> rows;
  for (const Bin& bin : values.bins(kBars)) {
    rows.push_back({bin.end - bin.begin == 1
                        ? bytes_text(bin.begin)
                        : fmt::format("{} to {}", edge_text(bin.begin), edge_text(bin.end)),
                    bin.count});
  }
  return rows;
}

std::vector<ChartRow> shape_rows(const Summary& summary) {
  const auto there = [](const ShapeCount& shape) { return shape.count > 0; };
  const auto first = std::ranges::find_if(summary.shapes, there);
  const auto last = std::find_if(summary.shapes.rbegin(), summary.shapes.rend(), there).base();
  std::vector<ChartRow> rows;
  for (auto shape = first; shape < last; ++shape)
    rows.push_back({std::string(shape->name), shape->count});
  return rows;
}

std::vector<ChartRow> class_rows(const std::vector<std::string>& names,
                                 const std::vector<std::uint64_t>& counts) {
  if (std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end()) return {};
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool all = counts.size() <= kClassesShown;
  if (!all) {
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  }
  std::vector<ChartRow> rows;
  const std::size_t smallest = order.size() - kSmallestShown;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!all && i == kLargestShown) {
      rows.push_back({fmt::format("... {} more", with_commas(smallest - i)), 0});
      i = smallest;
    }
    rows.push_back({names[order[i]], counts[order[i]]});
  }
  return rows;
}

std::string share_text(std::uint64_t count, std::uint64_t total) {
  const double percent = 100.0 * static_cast<double>(count) / static_cast<double>(total);
  return percent > 0 && percent < 0.05 ? "<0.1 %" : fmt::format("{:.1f} %", percent);
}

std::string chart_text(const std::vector<ChartRow>& rows, std::uint64_t total,
                       const program::Style& style) {
  std::uint64_t most = 1;
  std::size_t label_columns = 0, count_columns = 0;
  for (const ChartRow& row : rows) {
    most = std::max(most, row.count);
    label_columns = std::max(label_columns,
                             program::columns_of(program::one_line(row.label, kMostLabelColumns)));
    count_columns = std::max(count_columns, with_commas(row.count).size());
  }
  const int used = static_cast<int>(label_columns + count_columns) + 16;
  const int columns = std::clamp(style.width - used - 1, kLeastBar, kMostBar);
  std::string text;
  for (const ChartRow& row : rows) {
    const std::string label = program::one_line(row.label, kMostLabelColumns);
    text += "    " + label;
    if (row.count > 0) {
      text += std::string(label_columns - program::columns_of(label), ' ') +
              fmt::format("  {:>{}}  {:>7}  ", with_commas(row.count), count_columns,
                          share_text(row.count, total));
      const double share = static_cast<double>(row.count) / static_cast<double>(most);
      text += painted(bar(share, columns, style), program::Paint::kBar, style);
    }
    text += "\n";
  }
  return text;
}

std::string svg_chart(const std::string& title, const std::vector<ChartRow>& rows,
                      std::uint64_t total) {
  if (rows.size() < 2) return {};
  std::uint64_t most = 1;
  for (const ChartRow& row : rows) most = std::max(most, row.count);
  std::string svg = fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "aria-label=\"{0}\">\n",
      escaped(title), kChart, kRow * static_cast<int>(rows.size()));
  int y = 0;
  for (const ChartRow& row : rows) {
    const int text_y = y + 15;
    svg += fmt::format("<text x=\"{}\" y=\"{}\" class=\"label\">{}</text>", kLabel, text_y,
                       escaped(program::one_line(row.label, kLabelColumns)));
    if (row.count > 0) {
      const double width =
          std::max(1.0, kBar * static_cast<double>(row.count) / static_cast<double>(most));
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{}\">{} <tspan>({})</tspan></text>",
          kLabel + 10, y + 3, width, kRow - 6, kLabel + 18 + width, text_y,
          program::with_commas(row.count), escaped(share_text(row.count, total)));
    }
    svg += "\n";
    y += kRow;
  }
  return svg + "</svg></figure>\n";
}

}  // namespace packhorse::inspect

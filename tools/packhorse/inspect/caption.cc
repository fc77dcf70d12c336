#include "inspect/caption.h"

#include <algorithm>

#include "packhorse/base/printable.h"

namespace packhorse::inspect {

namespace {

constexpr std::size_t kMostCaption = 400;  // bytes

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The first bytes of a text, cut between two characters of UTF-8.
std::string_view beginning(std::string_view text) {
  if (text.size() <= kMostCaption) return text;
  std::size_t end = kMostCaption;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return text.substr(0, end);
}

}  // namespace

std::optional<std::size_t> caption_field(const PackedDataset& dataset) {
  const std::vector<std::string>& fields = dataset.fields();
  const std::vector<TargetRecord>& targets = dataset.manifest().targets;
  for (const char* const name : {"caption", "txt"}) {
    const auto field = std::find(fields.begin(), fields.end(), name);
    const bool of_objects = std::any_of(targets.begin(), targets.end(), [&](const auto& target) {
      return target.text == name || target.name == name;
    });
    if (field != fields.end() && !of_objects)
      return static_cast<std::size_t>(field - fields.begin());
  }
  return std::nullopt;
}

std::string read_caption(const PackedDataset& dataset, std::size_t field, std::size_t sample,
                         std::vector<std::byte>& bytes) {
  if (!dataset.read_field(sample, field, bytes)) return {};
  const std::string_view text = beginning(as_text(bytes));
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) return {};
  std::string line;
  for (const char c : text) {
    if (!is_space(c)) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (text.size() < bytes.size()) line += "...";
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace packhorse::inspect

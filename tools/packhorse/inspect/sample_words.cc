#include "inspect/sample_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/class_set.h"

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

/// The field that may hold captions: that of the target, or "caption" or "txt", unless that is the
/// text of another target.
std::optional<std::size_t> caption_field(const PackedDataset& dataset) {
  if (const auto target = find_target(dataset, kCaptionTarget)) return target->field;
  const std::vector<std::string>& fields = dataset.fields();
  const std::vector<TargetRecord>& targets = dataset.manifest().targets;
  for (const char* const name : {"caption", "txt"}) {
    const auto field = std::ranges::find(fields, name);
    const bool of_another = std::ranges::any_of(
        targets, [&](const auto& target) { return target.text == name || target.name == name; });
    if (field != fields.end() && !of_another)
      return static_cast<std::size_t>(field - fields.begin());
  }
  return std::nullopt;
}

/// The beginning of a caption, on one line: each space is a single one. Empty for what is no text.
std::string caption_in(Bytes bytes) {
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

std::string classes_in(Bytes bytes, const std::vector<std::string>& names) {
  const ClassSet set = decode_classes(bytes);
  std::string words;
  for (std::size_t i = 0; i < set.labels.size() && words.size() < kMostCaption; ++i) {
    const auto label = static_cast<std::size_t>(set.labels[i]);
    if (label >= names.size())
      throw Error(ErrorKind::kCorrupt, "a sample has a class that the dataset does not have");
    words += (i == 0 ? "" : ", ") + names[label];
    if (!set.scores.empty()) words += fmt::format(" {:.3g}", set.scores[i]);
  }
  return "[" + words + "]";
}

}  // namespace

std::optional<FieldTarget> find_target(const PackedDataset& dataset, std::string_view kind) {
  const std::vector<std::string>& fields = dataset.fields();
  for (const TargetRecord& target : dataset.manifest().targets) {
    const auto field = std::ranges::find(fields, target.name);
    if (target.kind == kind && field != fields.end())
      return FieldTarget{target, static_cast<std::size_t>(field - fields.begin())};
  }
  return std::nullopt;
}

SampleWords::SampleWords(const PackedDataset& dataset)
    : dataset_(dataset),
      classes_(find_target(dataset, kClassesTarget)),
      caption_(caption_field(dataset)) {}

std::string SampleWords::read(std::size_t sample) {
  std::string words;
  if (classes_ && dataset_.read_field(sample, classes_->field, bytes_))
    words = classes_in(bytes_, classes_->record.classes);
  if (!caption_ || !dataset_.read_field(sample, *caption_, bytes_)) return words;
  const std::string caption = caption_in(bytes_);
  return words + (words.empty() || caption.empty() ? "" : " ") + caption;
}

}  // namespace packhorse::inspect

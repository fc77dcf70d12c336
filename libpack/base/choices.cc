#include "base/choices.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongest = 64;

/// The edit distance with swaps of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& choices) {
  if (word.empty() || word.size() > kLongest) return {};
  const std::string typed = lower_case(word);
  const std::size_t letters = typed.size() - std::min(typed.find_first_not_of('-'), typed.size());
  std::size_t best = std::max<std::size_t>(1, letters / 3) + 1;
  std::string found, beginning;
  std::size_t beginnings = 0;
  for (const std::string& choice : choices) {
    if (choice.size() > kLongest) continue;
    const std::string name = lower_case(choice);
    const std::size_t edits = distance(typed, name);
    if (edits < best && edits < name.size()) {
      best = edits;
      found = choice;
    }
    if (name.starts_with(typed) && ++beginnings == 1) beginning = choice;
  }
  if (!found.empty()) return found;
  return beginnings == 1 && letters > 1 ? beginning : "";
}

std::string choice_advice(std::string_view word, const std::vector<std::string>& choices) {
  const std::string meant = nearest(word, choices);
  std::string text = meant.empty() ? "" : "did you mean " + meant + "? ";
  for (std::size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "choose one of: " : ", ") + choices[i];
  return text;
}

}  // namespace packhorse

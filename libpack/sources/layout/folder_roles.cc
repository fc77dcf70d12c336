#include "sources/layout/folder_roles.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"
#include "labels/text_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;

struct Word {
  std::string_view text;
  Kind kind;
  std::string_view split = {};
};

/// Words with a meaning. A kPlain word adds nothing to the words beside it.
constexpr std::array kWords = {
    Word{"train", Kind::kSplit, "train"},
    Word{"training", Kind::kSplit, "train"},
    Word{"trn", Kind::kSplit, "train"},
    Word{"val", Kind::kSplit, "val"},
    Word{"valid", Kind::kSplit, "val"},
    Word{"validation", Kind::kSplit, "val"},
    Word{"dev", Kind::kSplit, "val"},
    Word{"test", Kind::kSplit, "test"},
    Word{"testing", Kind::kSplit, "test"},
    Word{"tst", Kind::kSplit, "test"},
    Word{"eval", Kind::kUnclearSplit},
    Word{"evaluation", Kind::kUnclearSplit},
    Word{"holdout", Kind::kUnclearSplit},
    Word{"trainval", Kind::kUnclearSplit},
    Word{"image", Kind::kImages},
    Word{"images", Kind::kImages},
    Word{"img", Kind::kImages},
    Word{"imgs", Kind::kImages},
    Word{"jpeg", Kind::kImages},
    Word{"jpegs", Kind::kImages},
    Word{"jpg", Kind::kImages},
    Word{"jpgs", Kind::kImages},
    Word{"png", Kind::kImages},
    Word{"pngs", Kind::kImages},
    Word{"rgb", Kind::kImages},
    Word{"anno", Kind::kBeside},
    Word{"annos", Kind::kBeside},
    Word{"annot", Kind::kBeside},
    Word{"annotation", Kind::kBeside},
    Word{"annotations", Kind::kBeside},
    Word{"annots", Kind::kBeside},
    Word{"bbox", Kind::kBeside},
    Word{"bboxes", Kind::kBeside},
    Word{"devkit", Kind::kBeside},
    Word{"groundtruth", Kind::kBeside},
    Word{"gt", Kind::kBeside},
    Word{"imagesets", Kind::kBeside},
    Word{"json", Kind::kBeside},
    Word{"label", Kind::kBeside},
    Word{"labels", Kind::kBeside},
    Word{"masks", Kind::kBeside},
    Word{"meta", Kind::kBeside},
    Word{"metadata", Kind::kBeside},
    Word{"pred", Kind::kBeside},
    Word{"prediction", Kind::kBeside},
    Word{"predictions", Kind::kBeside},
    Word{"preds", Kind::kBeside},
    Word{"segmentation", Kind::kBeside},
    Word{"segmentations", Kind::kBeside},
    Word{"trimaps", Kind::kBeside},
    Word{"unlabeled", Kind::kBeside},
    Word{"unlabelled", Kind::kBeside},
    Word{"xml", Kind::kBeside},
    Word{"xmls", Kind::kBeside},
    Word{"all", Kind::kPlain},
    Word{"class", Kind::kPlain},
    Word{"data", Kind::kPlain},
    Word{"dataset", Kind::kPlain},
    Word{"final", Kind::kPlain},
    Word{"folder", Kind::kPlain},
    Word{"full", Kind::kPlain},
    Word{"object", Kind::kPlain},
    Word{"raw", Kind::kPlain},
    Word{"set", Kind::kPlain},
    Word{"sets", Kind::kPlain},
    Word{"split", Kind::kPlain},
    Word{"splits", Kind::kPlain},
};

/// Splits a name into runs of letters, in lower case; a capital after a small letter begins a new
/// run.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false, small = false;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    const bool letter = upper || lower || static_cast<unsigned char>(c) >= 0x80;
    if (letter && (!inside || (upper && small))) words.emplace_back();
    if (letter) words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
    inside = letter;
    small = lower;
  }
  return words;
}

const Word* find_exactly(std::string_view text) {
  const auto found = std::ranges::find(kWords, text, &Word::text);
  return found != kWords.end() ? &*found : nullptr;
}

/// "trainset", "testdata" and "jpegimages" mean the same as the word before their ending.
const Word* find_word(std::string_view text) {
  if (const Word* word = find_exactly(text)) return word;
  for (const std::string_view ending : {"set", "data", "images", "imgs"}) {
    if (!text.ends_with(ending)) continue;
    const Word* word = find_exactly(text.substr(0, text.size() - ending.size()));
    if (word != nullptr && word->kind != Kind::kPlain) return word;
  }
  return nullptr;
}

/// A name taken apart.
struct Parsed {
  std::set<std::string_view> splits;
  bool unclear = false, images = false, beside = false;
  std::string pattern;   ///< the words with no meaning, and * for each of the others
  bool unknown = false;  ///< there are words with no meaning
};

Parsed parse(std::string_view name) {
  Parsed parsed;
  std::vector<std::string> words = words_of(name);
  // "ground_truth" and "image_sets" are single words written in two parts.
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (find_exactly(words[i] + words[i + 1]) == nullptr) continue;
    words[i] += words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  for (const std::string& text : words) {
    const Word* word = find_word(text);
    if (word == nullptr) {
      parsed.unknown = true;
      parsed.pattern += text + ' ';
      continue;
    }
    if (word->kind == Kind::kSplit) parsed.splits.insert(word->split);
    if (word->kind == Kind::kUnclearSplit) parsed.unclear = true;
    if (word->kind == Kind::kImages) parsed.images = true;
    if (word->kind == Kind::kBeside) parsed.beside = true;
    if (word->kind == Kind::kSplit || word->kind == Kind::kBeside) parsed.pattern += "* ";
  }
  return parsed;
}

FolderRole role_of(const Parsed& parsed) {
  if (parsed.beside) return {Kind::kBeside, {}};
  if (parsed.unclear || parsed.splits.size() > 1) return {Kind::kUnclearSplit, {}};
  if (!parsed.splits.empty()) return {Kind::kSplit, std::string(*parsed.splits.begin())};
  return {parsed.images ? Kind::kImages : Kind::kPlain, {}};
}

}  // namespace

std::vector<FolderRole> roles_of(const std::vector<std::string>& folders) {
  std::vector<Parsed> parsed;
  std::map<std::string, std::set<std::string_view>> splits_of;  // by pattern
  for (const std::string& name : folders) {
    const Parsed& one = parsed.emplace_back(parse(name));
    if (one.unknown && one.splits.size() == 1 && !one.beside)
      splits_of[one.pattern].insert(*one.splits.begin());
  }
  std::vector<FolderRole> roles;
  for (const Parsed& one : parsed) {
    const auto alike = splits_of.find(one.pattern);
    const bool told = !one.unknown || (alike != splits_of.end() && alike->second.size() > 1);
    roles.push_back(told ? role_of(one) : FolderRole{});
  }
  return roles;
}

std::set<std::string_view> splits_hinted(std::string_view folder) {
  const auto is_split = [](const Word& word) {
    return word.kind == Kind::kSplit || word.kind == Kind::kUnclearSplit;
  };
  std::set<std::string_view> splits;
  for (const std::string& text : words_of(folder)) {
    if (const Word* whole = find_exactly(text)) {
      if (is_split(*whole)) splits.insert(whole->split);
      continue;
    }
    for (const Word& word : kWords) {
      if (is_split(word) && (text.starts_with(word.text) || text.ends_with(word.text)))
        splits.insert(word.split);
    }
  }
  return splits;
}

bool is_images_folder(std::string_view name) {
  const Parsed parsed = parse(name);
  return !parsed.unknown && role_of(parsed).kind == Kind::kImages;
}

bool is_beside_images(std::string_view name) {
  const Parsed parsed = parse(name);
  return !parsed.unknown && parsed.beside;
}

std::string split_named(std::string_view folder) {
  const Parsed parsed = parse(folder);
  return parsed.unknown ? std::string() : role_of(parsed).split;
}

std::string meaning_of_split(const std::string& name) {
  std::string meaning = split_named(name);
  if (meaning.empty()) return case_folded(name);
  std::ranges::copy_if(name, std::back_inserter(meaning),
                       [](char c) { return '0' <= c && c <= '9'; });
  return meaning;
}

void refuse_unclear_splits(const std::vector<std::string>& names,
                           const std::filesystem::path& table) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "the column of the splits has " + what, table,
                "write each split in one way, in all rows");
  };
  std::map<std::string, std::string> known;
  for (const std::string& name : names) {
    for (const char* none : {"nan", "none", "null", "na"})
      if (case_folded(name) == none) refuse("'" + printable(name) + "', which is an empty cell");
    const auto [other, is_new] = known.emplace(meaning_of_split(name), name);
    if (!is_new)
      refuse("'" + printable(other->second) + "' and '" + printable(name) +
             "', which stand for one split");
  }
}

std::string split_or_name(const std::string& folder) {
  const std::string split = split_named(folder);
  return split.empty() ? folder : split;
}

}  // namespace packhorse

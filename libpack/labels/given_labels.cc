#include "labels/given_labels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/option.h"
#include "base/printable.h"
#include "labels/label_file.h"
#include "labels/label_names.h"
#include "labels/label_pattern.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// A name without an image's extension.
std::string stem_of(const std::string& path) {
  return naming::has_any_image_name(path) ? path.substr(0, path.rfind('.')) : path;
}

/// The number at the end of a name: 17 for "val_00017.jpg". Nothing for other names.
std::optional<std::uint64_t> number_of(const std::string& path) {
  const std::string stem = stem_of(path);
  const std::size_t digits = stem.find_last_not_of("0123456789") + 1;  // npos + 1 = 0
  if (digits == stem.size() || stem.size() - digits > 18) return std::nullopt;
  return std::stoull(stem.substr(digits));
}

class Giver {
 public:
  Giver(const GivenLabels& given, Listing& listing)
      : given_(given),
        listing_(listing),
        names_(given.some_by_folders ? listing.classes : given.classes) {}

  void by_pattern() {
    const LabelPattern pattern(given_.options.pattern);
    std::vector<std::string> texts;
    std::map<std::string, std::int64_t, std::less<>> known;
    std::vector<std::string> preview;
    for (SplitListing& split : listing_.splits) {
      split.entries.relabel([&](std::size_t i) -> std::optional<std::int64_t> {
        Problem problem;
        const std::string path = path_of(split, i);
        const auto text = pattern.label(path, problem);
        if (!text) {
          split.rejects.push_back({printable(split.entries.path_of(i)), problem});
          return std::nullopt;
        }
        const auto [place, is_new] = known.emplace(*text, static_cast<std::int64_t>(texts.size()));
        if (is_new) texts.push_back(*text);
        if (is_new && preview.size() < kPreviewed)
          preview.push_back("'" + printable(path) + "' is '" + printable(*text) + "'");
        return place->second;
      });
    }
    if (texts.empty()) refuse_no_match();
    for (const std::string& text : texts) names_.add(text);
    names_.finish();
    note_names();
    for (SplitListing& split : listing_.splits) {
      const auto label = [&](std::size_t i) {
        Problem problem;
        const auto found =
            names_.label(texts[static_cast<std::size_t>(split.entries.label_of(i))], problem);
        if (!found) split.rejects.push_back({printable(split.entries.path_of(i)), problem});
        return found;
      };
      split.entries.relabel(label);
    }
    std::string text = "by " + opt("label_pattern");
    for (const std::string& one : preview) text += (&one == preview.data() ? " " : ", ") + one;
    if (!preview.empty()) listing_.notes.push_back(text);
    listing_.classes = names_.classes();
  }

  void by_files() {
    read_files();
    for (File& file : files_) file.labels.add_to(names_);
    names_.finish();
    note_names();
    for (File& file : files_) {
      listing_.notes.push_back(file.labels.note());
      file.labels.resolve(names_);
      note_places(file.labels);
      if (file.labels.numbered()) {
        by_numbers(file);
      } else {
        by_names(file);
      }
    }
    listing_.classes = names_.classes();
  }

 private:
  static constexpr std::size_t kPreviewed = 3;

  struct File {
    std::string split;  ///< "": all splits
    LabelFile labels;
    bool beside;
  };

  void note_names() {
    listing_.notes.insert(listing_.notes.end(), names_.notes().begin(), names_.notes().end());
  }

  static std::string path_of(const SplitListing& split, std::size_t i) {
    return naming::join(split.origin, split.entries.path_of(i));
  }

  void read_files() {
    const LabelOptions& options = given_.options;
    std::optional<LabelIds> ids;
    if (!options.ids.empty()) {
      ids = read_label_ids(options.ids);
      note_shared(*ids);
    }
    for (const auto& [split, path] : options.files) {
      refuse_unknown(split, path);
      files_.push_back(
          {split,
           LabelFile(path,
                     LabelColumns{options.path_column, options.label_column, options.split_column},
                     ids ? &*ids : nullptr),
           false});
      const bool integers =
          std::ranges::all_of(files_.back().labels.labels(), [](const std::string& text) {
            return text.find_first_not_of("0123456789") == std::string::npos;
          });
      if (files_.back().labels.numbered() && !ids && integers) ask_for_ids(path);
    }
    for (const auto& [split, path] : given_.beside) {
      files_.push_back({split, LabelFile(path, LabelColumns{"file_name", "label"}), true});
      listing_.notes.push_back("the labels" + (split.empty() ? "" : " of the split " + split) +
                               " are those in '" + printable(path.native()) + "'");
    }
  }

  /// Several ids may mean one class, but not by mistake.
  void note_shared(const LabelIds& ids) {
    std::map<std::string_view, std::string_view> id_of;
    std::size_t shared = 0;
    std::string first;
    for (const auto& [id, name] : ids) {
      const auto [other, is_new] = id_of.emplace(name, id);
      if (!is_new && shared++ == 0)
        first = "'" + printable(other->second) + "' and '" + printable(id) + "' are both '" +
                printable(name) + "'";
    }
    if (shared > 0)
      listing_.notes.push_back("the " + std::to_string(ids.size()) +
                               " ids of `label_ids=` stand for " + std::to_string(id_of.size()) +
                               " classes: " + first);
  }

  void refuse_no_match() const {
    for (const SplitListing& split : listing_.splits) {
      if (split.rejects.empty()) continue;
      throw Error(ErrorKind::kUsage,
                  "`label_pattern=` gives no image a class, for example not '" +
                      split.rejects.back().path + "'",
                  {},
                  "the pattern is matched against the file name, or, with a slash in it, against "
                  "the path in the source");
    }
  }

  void refuse_unknown(const std::string& split, const fs::path& path) const {
    std::vector<std::string> there;
    for (const SplitListing& one : listing_.splits) {
      if (split.empty() || one.split == split) return;
      there.push_back(one.split);
    }
    const bool none = there.size() == 1 && there.front().empty();
    throw Error(ErrorKind::kUsage,
                "the source has no split '" + split + "', for which `labels=` is given", path,
                none ? "it has no splits: give `labels=FILE`, or name its split folders with "
                       "`split_folders=`"
                     : "its splits: " + naming::quoted(there));
  }

  [[noreturn]] static void ask_for_ids(const fs::path& path) {
    throw Error(
        ErrorKind::kUsage,
        "the labels file holds integers alone, and it is not known which classes they stand for",
        path,
        "give `label_ids=FILE` with a line `ID NAME` for each; for ImageNet's "
        "ILSVRC2012_validation_ground_truth.txt they are ILSVRC2012_ID and WNID in data/meta.mat "
        "of its devkit (ILSVRC2012_devkit_t12), not the line numbers of LOC_synset_mapping.txt");
  }

  /// Says how integers were understood when the classes come from folders.
  void note_places(const LabelFile& labels) {
    if (!given_.some_by_folders) return;
    for (const std::string& text : labels.labels()) {
      Problem problem;
      if (names_.is_name(text)) continue;
      const auto label = names_.label(text, problem);
      listing_.notes.push_back(
          "the integers in " + printable(labels.path().native()) +
          " are places in the sorted list of class folders, counted from 0: " + text + " is '" +
          printable(names_.classes().at(static_cast<std::size_t>(*label))) + "'");
      return;
    }
  }

  /// An image's names, the best one first.
  static std::vector<std::string> image_names(const SplitListing& split, std::size_t i,
                                              const File& file) {
    if (file.beside) return {split.entries.path_of(i)};
    return names_of_image(split, i, !file.split.empty());
  }

  template <class Visit>
  void for_splits(const File& file, const Visit& visit) {
    for (SplitListing& split : listing_.splits) {
      if (file.beside || !file.split.empty() ? file.split == split.split : true) visit(split);
    }
  }

  void by_names(File& file) {
    for_splits(file, [&](const SplitListing& split) {
      for (std::size_t i = 0; i < split.entries.size(); ++i)
        file.labels.mark(image_names(split, i, file));
    });
    file.labels.note_unused(
        listing_.notes, "image of the " + (file.split.empty() ? "source" : "split " + file.split));
    for_splits(file, [&](SplitListing& split) {
      std::vector<std::uint8_t> places;  // in the file's splits, of the entries that are kept
      split.entries.relabel([&](std::size_t i) {
        Problem problem;
        std::size_t place = 0;
        const auto label = file.labels.take(image_names(split, i, file), problem, &place);
        if (!label) split.rejects.push_back({printable(split.entries.path_of(i)), problem});
        if (label && !file.labels.splits().empty())
          places.push_back(static_cast<std::uint8_t>(place));
        return label;
      });
      if (!file.labels.splits().empty() && split.split.empty())
        split_places_ = std::move(places);
      else if (!file.labels.splits().empty())
        refuse_other_split(file, split, places);
    });
    if (!split_places_.empty()) divide(file);
  }

  /// Makes a split of the images of each split in the file.
  void divide(const File& file) {
    SplitListing whole = std::move(listing_.splits.front());
    std::vector<std::string> names = file.labels.splits();
    naming::sort_splits(names);
    listing_.splits.clear();
    for (const std::string& name : names)
      listing_.splits.push_back({.split = name,
                                 .origin = whole.origin,
                                 .entries = EntryTable(whole.entries.memory()),
                                 .target_head = whole.target_head,
                                 .by_table = true});
    std::vector<std::size_t> place_of;  // of the file's splits
    for (const std::string& name : file.labels.splits())
      place_of.push_back(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
    for (std::size_t i = 0; i < whole.entries.size(); ++i)
      listing_.splits[place_of[split_places_[i]]].entries.add_from(whole.entries, i);
    listing_.splits.front().rejects = std::move(whole.rejects);
    listing_.splits.front().skips = std::move(whole.skips);
  }

  void refuse_other_split(const File& file, const SplitListing& split,
                          const std::vector<std::uint8_t>& places) const {
    for (std::size_t i = 0; i < split.entries.size(); ++i) {
      const std::string& other = file.labels.splits()[places[i]];
      if (given_.meaning_of_split(other) == given_.meaning_of_split(split.split)) continue;
      throw Error(ErrorKind::kUsage,
                  "'" + printable(path_of(split, i)) + "' is in the split '" + split.split +
                      "', and the labels file says '" + other + "'",
                  file.labels.path(),
                  "correct the column, or give `split_column=none`, which leaves it out");
    }
  }

  /// Gives line 1 to the first image, and so on, when the images' names prove that order: they end
  /// in the numbers of the lines, and byte order is the order of the numbers.
  void by_numbers(File& file) {
    const std::size_t lines = file.labels.size();
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::kUsage,
                  "the labels file has labels alone, one on each of its " + std::to_string(lines) +
                      " lines, but " + what,
                  file.labels.path(),
                  "give a file whose lines are `path label`, or all images, with names that end in "
                  "the number of their line: val_00000001.JPEG, val_00000002.JPEG, ...");
    };
    if (file.split.empty() && listing_.splits.size() > 1)
      refuse("the source has several splits: say which it belongs to, `labels=val=FILE`");
    for_splits(file, [&](SplitListing& split) {
      const std::size_t n = split.entries.size();
      if (n != lines || !split.rejects.empty())
        refuse("there are " + std::to_string(n) + " images, and " +
               std::to_string(split.rejects.size()) + " that are rejected");
      const std::optional<std::uint64_t> first = number_of(split.entries.path_of(0));
      for (std::size_t i = 0; i < n; ++i) {
        const std::string path = split.entries.path_of(i);
        const auto number = number_of(path);
        if (!first || *first > 1 || !number || *number != *first + i)
          refuse("image " + std::to_string(i + 1) + " by its name is '" + printable(path) + "'");
      }
      split.entries.relabel(
          [&](std::size_t i) { return std::optional(file.labels.label_of_line(i)); });
    });
  }

  const GivenLabels& given_;
  Listing& listing_;
  LabelNames names_;
  std::vector<File> files_;
  std::vector<std::uint8_t> split_places_;  ///< of a source without splits, to be divided
};

/// The entries have the label 0 already.
void give_one_class(const std::vector<std::string>& classes, Listing& listing) {
  if (classes.size() > 1) {
    throw Error(ErrorKind::kUsage,
                "`unlabelled=true` gives all images one class, and the class list has " +
                    std::to_string(classes.size()),
                {}, "leave out one of them, or list one class");
  }
  listing.classes = classes;
  if (classes.empty()) listing.classes.emplace_back(LabelOptions::kUnlabelled);
}

}  // namespace

std::vector<std::string> names_of_image(const SplitListing& split, std::size_t i, bool for_split) {
  const std::string below = split.entries.path_of(i);
  const std::string path = naming::join(split.origin, below);
  const std::string name(naming::last_name(below));
  if (!for_split) return {path, stem_of(path), name, stem_of(name)};
  return {path, stem_of(path), below, stem_of(below), name, stem_of(name)};
}

void give_labels(const GivenLabels& given, Listing& listing) {
  if (given.options.empty() && given.beside.empty()) return;
  if (given.options.unlabelled) return give_one_class(given.classes, listing);
  Giver giver(given, listing);
  if (!given.options.pattern.empty()) return giver.by_pattern();
  giver.by_files();
}

}  // namespace packhorse

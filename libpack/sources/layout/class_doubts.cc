#include "sources/layout/class_doubts.h"

#include <algorithm>
#include <set>

#include "listing/names.h"
#include "packhorse/base/printable.h"
#include "sources/layout/field_advice.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/inside_doubts.h"
#include "sources/layout/layout.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;
using Names = std::vector<std::string>;
using naming::quoted;

constexpr const char* kMeant = "--allow-odd-classes, or --classes FILE";

/// "class 'a'" or "classes 'a', 'b'"
std::string counted(const char* one, const char* several, const Names& names) {
  return (names.size() == 1 ? one : several) + (" " + quoted(names));
}

/// Marks the labels that have an image in a split, or a reject that would have been one.
std::vector<bool> used_labels(const SplitListing& split, const Names& classes) {
  std::vector<bool> used(classes.size());
  std::set<std::string, std::less<>> rejected;
  for (std::size_t i = 0; i < split.entries.size(); ++i)
    used[static_cast<std::size_t>(split.entries.label_of(i))] = true;
  for (const Reject& reject : split.rejects) {
    const std::string_view folder = naming::cut_first(reject.path).first;
    if (!rejected.contains(folder)) rejected.emplace(folder);
  }
  for (std::size_t label = 0; label < used.size(); ++label) {
    if (rejected.contains(printable(classes[label]))) used[label] = true;
  }
  return used;
}

class ClassDoubts {
 public:
  ClassDoubts(Listing& listing, const ListOptions& options, const Layout& layout)
      : listing_(listing), options_(options), layout_(layout), classes_(listing.classes) {
    for (const SplitListing& split : listing.splits) used_.push_back(used_labels(split, classes_));
  }

  /// Adds the gravest doubt first.
  void add_all() {
    if (!layout_.some_by_folders()) return add_other_splits();
    doubt_inside(listing_, options_, layout_);
    if (!options_.split_folders) add_named_like_splits();
    add_names();
    add_other_splits();
    add_empty();
    add_one();
  }

 private:
  void add(Doubt::Kind kind, std::string what, std::string advice) {
    listing_.doubts.push_back({kind, std::move(what), std::move(advice)});
  }

  bool used_anywhere(std::size_t label) const {
    return std::any_of(used_.begin(), used_.end(),
                       [&](const std::vector<bool>& used) { return used[label]; });
  }

  /// Adds a doubt when all class names resemble splits: that is no accident, even where the strict
  /// rule does not count them as splits.
  void add_named_like_splits() {
    std::set<std::string_view> meant;
    std::vector<SplitFolder> first;
    const SplitListing& whole = listing_.splits.front();
    if (!whole.split.empty()) return;
    for (const std::string& name : classes_) {
      const std::set<std::string_view> hinted = splits_hinted(name);
      if (hinted.empty()) return;
      const std::string_view split = *hinted.rbegin();
      if (meant.insert(split).second && !split.empty())
        first.push_back({std::string(split), naming::join(whole.origin, name)});
    }
    if (meant.size() < 2) return;
    add(Doubt::Kind::kLayout, "all classes would be named like splits: " + quoted(classes_),
        "say which folder is which split, e.g. " + split_folders_option(first) +
            "; if these are classes, give --split-folders none");
  }

  /// Adds a doubt for classes that "train" lacks: a model trained on it cannot know them.
  void add_other_splits() {
    const bool by_folders = layout_.some_by_folders();
    const std::vector<SplitListing>& splits = listing_.splits;
    const auto train = std::find_if(splits.begin(), splits.end(),
                                    [](const SplitListing& one) { return one.split == "train"; });
    if (train == splits.end()) return;
    const std::vector<bool>& trained = used_[static_cast<std::size_t>(train - splits.begin())];
    std::set<std::string> in_train;
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      if (trained[label]) in_train.insert(lower_case(classes_[label]));
    }
    for (std::size_t s = 0; s < splits.size(); ++s) {
      Names other, by_case;
      for (std::size_t label = 0; label < classes_.size(); ++label) {
        if (!used_[s][label] || trained[label]) continue;
        const bool alike = in_train.contains(lower_case(classes_[label]));
        (alike ? by_case : other).push_back(classes_[label]);
      }
      const auto has = [&](const Names& names) {
        return "the split " + splits[s].split + " has the " + counted("class", "classes", names);
      };
      if (!by_case.empty()) {
        add(Doubt::Kind::kSplitClasses,
            has(by_case) + ", and train has the same in different letter case",
            std::string(
                "give a class the same name in all splits; if they are different classes, give ") +
                kMeant);
      }
      if (!other.empty()) {
        add(Doubt::Kind::kSplitClasses, has(other) + ", which train lacks",
            (by_folders
                 ? "give all splits the same class folders; if those are deeper, point "
                   "--split-folders at the folders that hold them, or leave a split out by naming "
                   "only the others; the current choice is " +
                       split_folders_option(told_splits())
                 : std::string("give the labels of all splits the same class names")) +
                "; if different classes are meant, give " + kMeant);
      }
    }
  }

  /// What --split-folders would have to say to get the splits that were found.
  std::vector<SplitFolder> told_splits() const {
    std::vector<SplitFolder> told;
    for (const SplitListing& split : listing_.splits) told.push_back({split.split, split.origin});
    return told;
  }

  void add_names() {
    const std::vector<FolderRole> roles = roles_of(classes_);
    Names odd;
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      const Kind kind = roles[label].kind;
      const bool split = kind == Kind::kSplit || kind == Kind::kUnclearSplit;
      if (kind != Kind::kPlain && !(split && options_.split_folders))
        odd.push_back(classes_[label]);
    }
    if (odd.empty()) return;
    add(Doubt::Kind::kClassName,
        "a class would be named " + quoted(odd) +
            ", which is a name for a part of a dataset, not for a class",
        as_fields(roles) +
            "give the folder that holds the class folders as the source, or describe the source "
            "with "
            "--split-folders or --labels; if these are classes, give --allow-odd-classes, or list "
            "all "
            "classes with --classes FILE");
  }

  /// The advice to pack files named like masks or labels as fields of the images beside them.
  std::string as_fields(const std::vector<FolderRole>& roles) const {
    std::vector<FieldFolder> folders;
    Names names;
    bool images = false, classes = false;
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      const Kind kind = roles[label].kind;
      images = images || kind == Kind::kImages;
      classes = classes || kind == Kind::kPlain;
      if (kind != Kind::kBeside) continue;
      folders.push_back({classes_[label], classes_[label]});
      names.push_back(classes_[label]);
    }
    const std::string options =
        field_options(listing_.splits.front(), layout_.roots.front(), folders);
    if (options.empty())
      return images && !classes ? "if the images have no classes, give --unlabelled; else " : "";
    // Boxes need their classes told, which a folder of texts does not hold.
    const bool boxes = names.front() == "labels" && options.find(" txt=") != std::string::npos;
    return "if " + quoted(names) + (names.size() == 1 ? " holds" : " hold") +
           " what belongs to the images, give " + options +
           (classes ? "" : ", and --unlabelled if they have no classes") +
           (boxes ? " (labels of YOLO: and --targets yolo --target-classes FILE)" : "") + "; else ";
  }

  void add_empty() {
    Names empty;
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      if (!used_anywhere(label)) empty.push_back(classes_[label]);
    }
    if (empty.empty()) return;
    add(Doubt::Kind::kEmptyClass,
        "the " + counted("class folder", "class folders", empty) +
            (empty.size() == 1 ? " holds" : " hold") + " no image",
        std::string("remove it; if it is meant, give ") + kMeant);
  }

  void add_one() {
    if (classes_.size() != 1) return;
    add(Doubt::Kind::kOneClass, "there is only one class, " + quoted(classes_),
        std::string("give the folder that holds the class folders as the source; if one class is "
                    "meant, give ") +
            kMeant);
  }

  Listing& listing_;
  const ListOptions& options_;
  const Layout& layout_;
  const Names& classes_;
  std::vector<std::vector<bool>> used_;  ///< by split and label
};

/// Adds a doubt for splits without images, wherever the labels come from.
void doubt_empty_splits(Listing& listing) {
  Names empty;
  std::vector<SplitFolder> others;
  for (const SplitListing& split : listing.splits) {
    if (split.entries.size() + split.rejects.size() == 0) {
      empty.push_back(split.prefix());
    } else {
      others.push_back({split.split, split.origin});
    }
  }
  if (empty.empty() || others.empty()) return;
  listing.doubts.push_back({Doubt::Kind::kEmptySplit,
                            "the " + counted("split folder", "split folders", empty) +
                                (empty.size() == 1 ? " holds" : " hold") + " no image",
                            "leave it out by naming only the others, " +
                                split_folders_option(others) +
                                "; if it is meant, give --allow-odd-classes"});
}

}  // namespace

void doubt_classes(Listing& listing, const ListOptions& options, const Layout& layout) {
  doubt_empty_splits(listing);
  if (!options.classes.empty() || options.labels.for_all()) return;
  ClassDoubts(listing, options, layout).add_all();
}

}  // namespace packhorse

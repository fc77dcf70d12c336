#include "sources/class_doubts.h"

#include <algorithm>
#include <set>

#include "packhorse/printable.h"
#include "sources/folder_roles.h"
#include "sources/naming.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;
using Names = std::vector<std::string>;
using naming::quoted;

constexpr const char* kMeant = "--allow-odd-classes, or --classes FILE";

/// Which labels have an image in a split, or a reject that would be one.
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
  ClassDoubts(Listing& listing, const ListOptions& options)
      : listing_(listing), options_(options), classes_(listing.classes) {
    for (const SplitListing& split : listing.splits) used_.push_back(used_labels(split, classes_));
  }

  /// The gravest first.
  void add_all() {
    add_names();
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
        "a class would be called " + quoted(odd) +
            ": that is the name of a part of a dataset, not of a class",
        "give the folder of the class folders as the source, or say what is what with "
        "--split-folders or --labels; if these are classes, say --allow-odd-classes, or name all "
        "classes with --classes FILE");
  }

  void add_empty() {
    Names empty;
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      if (!used_anywhere(label)) empty.push_back(classes_[label]);
    }
    if (empty.empty()) return;
    add(Doubt::Kind::kEmptyClass, "the class folder " + quoted(empty) + " holds no image",
        std::string("remove it, or say that it is meant: ") + kMeant);
  }

  void add_one() {
    if (classes_.size() != 1) return;
    add(Doubt::Kind::kOneClass, "there is only one class, " + quoted(classes_),
        std::string("give the folder of the class folders as the source; if one class is meant, "
                    "say ") +
            kMeant);
  }

  Listing& listing_;
  const ListOptions& options_;
  const Names& classes_;
  std::vector<std::vector<bool>> used_;  ///< by split and label
};

}  // namespace

void doubt_classes(Listing& listing, const ListOptions& options) {
  if (!options.classes.empty() || !options.labels.empty()) return;
  ClassDoubts(listing, options).add_all();
}

}  // namespace packhorse

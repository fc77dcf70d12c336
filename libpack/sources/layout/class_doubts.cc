#include <algorithm>
#include <iterator>

#include "archive/archive_scan.h"
#include "base/printable.h"
#include "labels/label_names.h"
#include "listing/names.h"
#include "sources/layout/annotations_beside.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/layout.h"
#include "sources/layout/lookalikes.h"

namespace packhorse {

namespace {

using Id = Tree::Id;
using DoubtKind = Doubt::Kind;
using Names = std::vector<std::string>;
using naming::quoted;

Names listed(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

/// "class 'a'" or "classes 'a', 'b'"
std::string counted(const char* one, const char* several, const Names& names) {
  return (names.size() == 1 ? one : several) + (" " + quoted(names));
}

class ClassDoubts {
 public:
  ClassDoubts(Layout& layout, const Tree& tree, const SourceContents& contents,
              const ListOptions& options, const std::filesystem::path& source)
      : layout_(layout), tree_(tree), contents_(contents), options_(options), source_(source) {}

  void add_all() {
    if (!contents_.datasets.empty() && contents_.datasets.front().empty())
      add(DoubtKind::kLayout, "the source is packed data, and there are folders of images in it");
    else if (!contents_.datasets.empty())
      add(DoubtKind::kLayout, "the source holds packed data, " + quoted(contents_.datasets) +
                                  ", beside what it may have been packed from");
    if (layout_.some_by_folders() && options_.classes_at == 0) {
      add_deeper();
      add_twins();
      add_archives();
      add_hinted_splits();
      add_names();
      add_parts();
      add_renderings();
      add_companions();
    }
    if (options_.classes_at == 0) {
      add_renamed();
      add_other_splits();
      if (layout_.some_by_folders()) add_few();
    }
  }

  void add_companions() {
    const std::optional<Companions> found = companions_in(contents_, layout_);
    if (found)
      add(DoubtKind::kLayout,
          std::to_string(found->count) +
              (found->count == 1 ? " file beside an image is" : " files beside images are") +
              " named like a mask, or another form, of it: '" + printable(found->file) +
              "' beside '" + printable(found->image) + "' in '" + printable(found->class_folder) +
              "'");
  }

  /// Adds a doubt for splits without images, wherever the labels come from.
  void add_empty_splits() {
    Names empty;
    for (const Layout::Root& root : layout_.roots) {
      const auto folder = tree_.find(root.folder);
      if (!root.archive && folder && !tree_[*folder].holds()) empty.push_back(root.folder);
    }
    if (empty.empty() || empty.size() == layout_.roots.size()) return;
    add(DoubtKind::kEmptySplit, "the " + counted("split folder", "split folders", empty) +
                                    (empty.size() == 1 ? " holds" : " hold") + " no image");
  }

 private:
  void add(DoubtKind kind, std::string what) {
    layout_.doubts.push_back({kind, std::move(what), {}});
  }

  /// Adds a doubt where images lie deeper than directly in the class folders.
  void add_deeper() {
    for (const Layout::Root& root : layout_.roots) {
      if (root.given || root.archive) continue;
      std::uint64_t direct = 0, deeper = 0;
      std::string example;
      for (const Id id : tree_.holding(*tree_.find(root.folder))) {
        direct += tree_[id].images;
        deeper += tree_[id].below - tree_[id].images;
        if (!example.empty() || tree_[id].below == tree_[id].images) continue;
        Id inner = id;
        while (tree_[inner].images == 0 || inner == id) {
          const std::vector<Id> holding = tree_.holding(inner);
          const auto next =
              std::ranges::find_if(holding, [&](Id one) { return tree_[one].below > 0; });
          if (next == holding.end()) break;
          inner = *next;
        }
        example = tree_[inner].path;
      }
      if (deeper == 0) continue;
      const std::string where = ", such as those in '" + printable(example) + "'";
      return add(DoubtKind::kLayout,
                 direct == 0 ? "the images lie deeper than in SOURCE/<class>/" + where +
                                   ", so it is not clear which folders are the classes"
                             : "some images lie directly in the class folders, and others deeper" +
                                   where + ", so it is not clear which folders are the classes");
    }
  }

  /// Adds a doubt when links make one folder into two class folders.
  void add_twins() {
    for (const auto& [one, other] : contents_.twins) {
      const auto folder = tree_.find(one), other_folder = tree_.find(other);
      if (!folder || !other_folder || !tree_[*folder].holds() || !tree_[*other_folder].holds())
        continue;  // --exclude has left one out
      const std::string path = one + "/x", other_path = other + "/x";
      std::string_view below, other_below;
      const Layout::Root* root = layout_.root_of(path, below);
      const Layout::Root* other_root = layout_.root_of(other_path, other_below);
      if (root == nullptr || other_root == nullptr || root->given || other_root->given) continue;
      if (root->class_of(below) == other_root->class_of(other_below)) continue;
      return add(DoubtKind::kLayout,
                 "the class folders " + quoted({one, other}) +
                     " are the same folder, so its images would have two labels");
    }
  }

  /// Adds a doubt for an archive where class folders or splits lie: it may be one of them. What has
  /// been unpacked beside it is left out.
  void add_archives() {
    for (const SourceContents::Other& other : contents_.others) {
      const auto [folder, name] = naming::directory_and_name(other.path);
      if (other.rule != naming::kNotAnImage || !has_archive_name(name)) continue;
      const bool here = std::ranges::any_of(layout_.roots, [&](auto& root) {
        const std::string_view around = naming::directory_of(root.folder);
        return !root.given && !root.archive &&
               (root.folder == folder || (!root.split.empty() && around == folder));
      });
      const bool split =
          std::ranges::any_of(layout_.roots, [&](auto& root) { return root.folder == other.path; });
      if (!here || split) continue;
      const std::string stem(archive_stem(name));
      if (tree_.find(naming::join(folder, stem)) || naming::last_name(folder) == stem ||
          (folder.empty() && source_.filename() == stem)) {
        layout_.notes.push_back("left out, as it lies beside what it was unpacked to: " +
                                naming::shown(other.path));
        continue;
      }
      return add(DoubtKind::kLayout, "beside the folders of images lies the archive " +
                                         naming::shown(other.path) + ", which is not read");
    }
  }

  /// Adds a doubt when all class names resemble splits: that is no accident, even where the strict
  /// rule does not count them as splits.
  void add_hinted_splits() {
    if (!layout_.roots.front().split.empty() || options_.split_folders) return;
    std::set<std::string_view> meant;
    for (const std::string& name : layout_.classes) {
      const std::set<std::string_view> hinted = splits_hinted(name);
      if (hinted.empty()) return;
      meant.insert(*hinted.rbegin());
    }
    if (meant.size() > 1)
      add(DoubtKind::kLayout,
          "all classes would be named like splits: " + quoted(listed(layout_.classes)));
  }

  /// Adds a doubt for classes that are called as parts of a dataset are.
  void add_names() {
    const Names classes = listed(layout_.classes);
    const std::vector<FolderRole> roles = roles_of(classes);
    Names odd;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      using Kind = FolderRole::Kind;
      const bool split = roles[i].kind == Kind::kSplit || roles[i].kind == Kind::kUnclearSplit;
      if (roles[i].kind != Kind::kPlain && !(split && options_.split_folders))
        odd.push_back(classes[i]);
    }
    if (!odd.empty())
      add(DoubtKind::kClassName, "a class would be named " + quoted(odd) +
                                     ", which is a name for a part of a dataset, not for a class");
  }

  void add_parts() {
    const Names parts = numbered_parts(layout_.classes);
    if (!parts.empty())
      add(DoubtKind::kLayout, "the folders " + quoted(parts) +
                                  " look like numbered parts of a dataset, not like classes");
  }

  void add_renderings() {
    for (const Layout::Root& root : layout_.roots) {
      if (root.given || root.archive) continue;
      bool unlike = false;
      const Names same = renderings(contents_, root, &unlike);
      if (unlike && same.empty())
        layout_.notes.emplace_back(
            "the images of the class folders have the same numbers, as renderings of the same "
            "pictures have; eight pairs that were looked at are unlike, so the folders are "
            "classes");
      if (!same.empty())
        return add(DoubtKind::kLayout,
                   "the files in the folders " + quoted(same) +
                       " have the same names, as renderings of the same pictures have");
    }
  }

  /// Adds a doubt for names that people cannot tell apart.
  void add_renamed() {
    const Names classes = listed(layout_.classes);
    if (const auto same = lookalikes_in(classes))
      add(DoubtKind::kSplitClasses, "the classes " +
                                        quoted({classes[same->first], classes[same->second]}) +
                                        " differ only in letter case, in blanks or in their "
                                        "Unicode form");
  }

  /// Adds a doubt for classes that "train" lacks: a model trained on it cannot know them.
  void add_other_splits() {
    const auto train =
        std::ranges::find_if(layout_.roots, [](const auto& root) { return root.split == "train"; });
    if (train == layout_.roots.end() || train->given) return;
    for (const Layout::Root& root : layout_.roots) {
      Names other;
      std::set_difference(root.classes.begin(), root.classes.end(), train->classes.begin(),
                          train->classes.end(), std::back_inserter(other));
      if (!other.empty())
        add(DoubtKind::kSplitClasses, "the split " + root.split + " has the " +
                                          counted("class", "classes", other) +
                                          ", which train lacks");
    }
  }

  /// Adds doubts for classes without images, and for a single one.
  void add_few() {
    Names empty;
    for (const std::string& name : layout_.classes)
      if (std::ranges::none_of(
              layout_.roots, [&](const Layout::Root& root) { return root.classes.contains(name); }))
        empty.push_back(name);
    if (!empty.empty())
      add(DoubtKind::kEmptyClass, "the " + counted("class folder", "class folders", empty) +
                                      (empty.size() == 1 ? " holds" : " hold") + " no image");
    if (layout_.classes.size() == 1)
      add(DoubtKind::kOneClass, "there is only one class, " + quoted(listed(layout_.classes)));
  }

  Layout& layout_;
  const Tree& tree_;
  const SourceContents& contents_;
  const ListOptions& options_;
  const std::filesystem::path& source_;
};

}  // namespace

void doubt_given_labels(Listing& listing, const Layout& layout, const ListOptions& options) {
  const bool by_table = !listing.splits.empty() && listing.splits.front().by_table;
  if (by_table) {
    std::vector<std::string> names;
    for (const SplitListing& split : listing.splits) {
      names.push_back(split.split);
      if (split.entries.size() == 0)
        listing.doubts.push_back({DoubtKind::kEmptySplit,
                                  "the labels file has the split " + split.split +
                                      ", and no image that it names is there",
                                  "add the images, take the lines out, or give "
                                  "`allow_odd_classes=true`"});
    }
    refuse_unclear_splits(names, options.labels.files.empty()
                                     ? std::filesystem::path()
                                     : options.labels.files.begin()->second);
  }
  const auto train = std::ranges::find_if(
      listing.splits, [](const SplitListing& split) { return split.split == "train"; });
  if (train == listing.splits.end() || !options.classes.empty()) return;
  const auto place = static_cast<std::size_t>(train - listing.splits.begin());
  if (!by_table && !layout.roots[place].given) return;
  const auto used_in = [&](const SplitListing& split) {
    std::set<std::string> used;
    for (std::size_t i = 0; i < split.entries.size(); ++i)
      used.insert(listing.classes[static_cast<std::size_t>(split.entries.label_of(i))]);
    return used;
  };
  const auto trained = used_in(*train);
  for (const SplitListing& split : listing.splits) {
    const auto used = used_in(split);
    Names other;
    std::set_difference(used.begin(), used.end(), trained.begin(), trained.end(),
                        std::back_inserter(other));
    if (!other.empty())
      listing.doubts.push_back({DoubtKind::kSplitClasses,
                                "the split " + split.split + " has the " +
                                    counted("class", "classes", other) + ", which train lacks",
                                "correct the labels, list all classes with `classes=FILE`, or give "
                                "`allow_odd_classes=true`"});
  }
}

void doubt_classes(Layout& layout, const Tree& tree, const SourceContents& contents,
                   const ListOptions& options, const std::filesystem::path& source) {
  ClassDoubts doubts(layout, tree, contents, options, source);
  if (!options.labels.for_all()) {
    if (options.classes.empty()) {
      doubts.add_all();
    } else if (options.classes_at == 0 && layout.some_by_folders()) {
      doubts.add_companions();
    }
  }
  doubts.add_empty_splits();
  doubt_unread_annotations(layout, contents, options);
}

}  // namespace packhorse

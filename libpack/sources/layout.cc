#include "sources/layout.h"

#include <algorithm>
#include <set>

#include "packhorse/error.h"
#include "packhorse/printable.h"
#include "sources/folder_roles.h"
#include "sources/naming.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Kind = FolderRole::Kind;
using naming::join;
using naming::last_name;

constexpr int kMostAround = 8;  // folders around everything

/// 'a', 'b', 'c' and 4 more
std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "'" : ", '") + printable(names[i]) + "'";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

/// A folder beside others.
struct Item {
  std::string name, path;
  FolderRole role;
};

std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

/// "train=train,val=valid": how --split-folders would say it.
std::string as_option(const std::vector<Item>& items) {
  std::string text;
  for (const Item& item : items)
    text += (text.empty() ? "" : ",") + item.role.split + "=" + printable(item.path);
  return text;
}

class Finder {
 public:
  Finder(const FolderTree& tree, const ListOptions& options, const fs::path& source)
      : tree_(tree), options_(options), source_(source), labelled_(!options.labels.empty()) {}

  Layout run() {
    if (options_.split_folders && !options_.split_folders->empty()) return as_told();
    return at("", 0);
  }

 private:
  std::vector<Item> items(const std::string& folder) const {
    const std::vector<std::string> names = tree_.folders(folder);
    const std::vector<FolderRole> roles = roles_of(names);
    std::vector<Item> items;
    for (std::size_t i = 0; i < names.size(); ++i)
      items.push_back({names[i], join(folder, names[i]), roles[i]});
    return items;
  }

  bool has_images(const Item& item) const {
    const bool aside = item.role.kind == Kind::kBeside;
    return tree_.holds_images_below(
        item.path, aside ? FolderTree::Told::kByName : FolderTree::Told::kByNameOrBytes);
  }

  /// Whether the class list names all folders in `folder`.
  bool listed(const std::string& folder) const {
    const std::vector<std::string> names = tree_.folders(folder);
    const std::vector<std::string>& classes = options_.classes;
    return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::find(classes.begin(), classes.end(), name) != classes.end();
    });
  }

  /// What the folders in `folder` are, which has `around` folders around it.
  Layout at(const std::string& folder, int around) const {
    const std::vector<Item> all = items(folder);
    if (!labelled_ && listed(folder) && !(all.size() == 1 && listed(all.front().path)))
      return classes_in(folder);
    if (!options_.split_folders) {
      std::vector<Item> splits;
      std::copy_if(all.begin(), all.end(), std::back_inserter(splits),
                   [](const Item& item) { return item.role.kind == Kind::kSplit; });
      // With labels from a file, one folder alone is but where the images lie.
      if (splits.size() > (labelled_ ? 1 : 0)) return splits_in(folder, all, splits, around);
    }
    const Item* inner = around < kMostAround ? only_one(folder, all) : nullptr;
    if (inner == nullptr) return classes_in(folder);
    Layout layout = at(inner->path, around + 1);
    // With labels from a file, folders mean nothing unless they are splits.
    if (labelled_ && layout.roots.front().split.empty()) return classes_in(folder);
    return layout;
  }

  /// The folder around everything, if there is one that holds no image itself. Null when there is
  /// none.
  const Item* only_one(const std::string& folder, const std::vector<Item>& all) const {
    if (tree_.holds_images(folder)) return nullptr;
    std::vector<const Item*> rest;
    for (const Item& item : all) {
      if (item.role.kind != Kind::kBeside || has_images(item)) rest.push_back(&item);
    }
    // Beside a folder of images, folders without any are neither classes nor around anything.
    const auto is_images = [](const Item* item) { return item->role.kind == Kind::kImages; };
    if (rest.size() > 1 && std::count_if(rest.begin(), rest.end(), is_images) == 1) {
      std::erase_if(rest, [&](const Item* item) { return !is_images(item) && !has_images(*item); });
    }
    if (rest.size() != 1 || tree_.holds_images(rest.front()->path) ||
        tree_.folders(rest.front()->path).empty()) {
      return nullptr;
    }
    return rest.front();
  }

  Layout classes_in(const std::string& folder) const {
    Layout layout;
    layout.roots.push_back({"", folder});
    if (labelled_) return layout;
    if (!folder.empty())
      layout.notes.push_back("the classes are the folders in '" + printable(folder) + "'");
    if (tree_.folders(folder).empty() && tree_.holds_images(folder)) {
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the source holds images, but no class folders: nothing says of which class they are",
           "put them into a folder for each class, SOURCE/<class>/<image>, or give their labels "
           "with --labels FILE"});
    }
    return layout;
  }

  Layout doubtful(const std::string& folder, std::string what, std::string advice) const {
    Layout layout = classes_in(folder);
    layout.doubts.push_back({Doubt::Kind::kLayout, std::move(what), std::move(advice)});
    return layout;
  }

  Layout splits_in(const std::string& folder, const std::vector<Item>& all,
                   const std::vector<Item>& splits, int around) const {
    if (all.size() == 1 && around < kMostAround) {  // "test/train" and "test/val": one around them
      Layout inner = at(all.front().path, around + 1);
      if (inner.roots.size() > 1) return inner;
    }
    for (std::size_t i = 0; i < splits.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (splits[i].role.split != splits[j].role.split) continue;
        return doubtful(folder,
                        "the folders " + quoted({splits[j].name, splits[i].name}) +
                            " are both named like the split " + splits[i].role.split,
                        "say which folder is which split, e.g. --split-folders train=" +
                            printable(splits[j].path) + ",val=" + printable(splits[i].path));
      }
    }
    std::vector<Item> others, flat;
    for (const Item& item : all) {
      if (item.role.kind == Kind::kSplit) {
        if (is_flat(root_in(item.path, item.role.split))) flat.push_back(item);
      } else if (item.role.kind != Kind::kBeside && has_images(item)) {
        others.push_back(item);
      }
    }
    if (!others.empty()) {
      return doubtful(folder,
                      "beside " + quoted(names_of(splits)) + ", named like splits, there is " +
                          quoted(names_of(others)) + " with images",
                      "name the folders that are splits, and leave out those that are not: "
                      "--split-folders " +
                          as_option(splits) +
                          "; if all of them are classes, say --split-folders none");
    }
    if (!labelled_ && flat.size() == splits.size()) {
      return doubtful(folder,
                      "the folders " + quoted(names_of(splits)) +
                          " are named like splits, and hold images instead of class folders",
                      "put the images into class folders, SOURCE/train/<class>/<image>, or give "
                      "their labels with --labels FILE; if these folders are the classes, say "
                      "--split-folders none");
    }
    return make_splits(all, splits, flat);
  }

  Layout make_splits(const std::vector<Item>& all, const std::vector<Item>& splits,
                     const std::vector<Item>& flat) const {
    Layout layout;
    for (const Item& item : splits) add_root(layout, item.role.split, item.path);
    // The order does not depend on what the folders are called.
    std::sort(layout.roots.begin(), layout.roots.end(),
              [](const Layout::Root& a, const Layout::Root& b) { return a.split < b.split; });
    std::vector<std::string> left;
    for (const Item& item : all) {
      if (item.role.kind != Kind::kSplit) left.push_back(item.name);
    }
    if (!left.empty())
      layout.notes.push_back("beside the split folders, left out: " + quoted(left));
    if (!labelled_ && !flat.empty()) {
      std::vector<Item> rest;
      std::copy_if(splits.begin(), splits.end(), std::back_inserter(rest), [&](const Item& item) {
        return std::none_of(flat.begin(), flat.end(),
                            [&](const Item& one) { return one.name == item.name; });
      });
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the split folder " + quoted(names_of(flat)) + " holds images, but no class folders",
           "leave it out by naming the others, --split-folders " + as_option(rest) +
               "; or give all labels with --labels FILE"});
    }
    return layout;
  }

  void add_root(Layout& layout, const std::string& split, const std::string& folder) const {
    const std::string root = root_in(folder, split);
    layout.roots.push_back({split, root});
    if (root != split)
      layout.notes.push_back("the split " + split + " is the folder '" + printable(root) + "'");
  }

  bool is_flat(const std::string& root) const {
    return tree_.folders(root).empty() && tree_.holds_images(root);
  }

  /// Where the class folders of a split lie: in its folder, or in one in it that is named like the
  /// split again, or like images.
  std::string root_in(std::string folder, const std::string& split) const {
    if (labelled_) return folder;
    for (int depth = 0; depth < kMostAround; ++depth) {
      const std::vector<Item> all = items(folder);
      const Item* inner = listed(folder) ? nullptr : only_one(folder, all);
      const bool again = inner != nullptr &&
                         (inner->name == last_name(folder) || split_named(inner->name) == split ||
                          inner->role.kind == Kind::kImages);
      if (!again) break;
      folder = inner->path;
    }
    return folder;
  }

  /// By --split-folders.
  Layout as_told() const {
    Layout layout;
    for (const SplitFolder& told : *options_.split_folders) {
      const std::string above(naming::directory_of(told.folder));
      const std::vector<std::string> there = tree_.folders(above);
      const std::string name(last_name(told.folder));
      if (std::find(there.begin(), there.end(), name) == there.end()) {
        throw Error(
            ErrorKind::kUsage,
            "there is no folder '" + printable(told.folder) + "' for the split " + told.split,
            source_ / above, there.empty() ? "there are no folders" : "there is: " + quoted(there));
      }
      add_root(layout, told.split, told.folder);
      if (labelled_ || !is_flat(layout.roots.back().folder)) continue;
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the split folder '" + printable(told.folder) + "' holds images, but no class folders",
           "leave it out of --split-folders, or give all labels with --labels FILE"});
    }
    return layout;
  }

  const FolderTree& tree_;
  const ListOptions& options_;
  const fs::path& source_;
  const bool labelled_;
};

/// Which labels have an image, or a reject that would be one.
std::vector<bool> used_labels(const Listing& listing) {
  std::vector<bool> used(listing.classes.size());
  std::set<std::string> rejected;
  for (const SplitListing& split : listing.splits) {
    for (std::size_t i = 0; i < split.entries.size(); ++i)
      used[static_cast<std::size_t>(split.entries.label_of(i))] = true;
    for (const Reject& reject : split.rejects)
      rejected.insert(reject.path.substr(0, reject.path.find('/')));
  }
  for (std::size_t label = 0; label < used.size(); ++label) {
    if (rejected.contains(printable(listing.classes[label]))) used[label] = true;
  }
  return used;
}

}  // namespace

const Layout::Root* Layout::root_of(std::string_view path, std::string_view& below) const {
  for (const Root& root : roots) {
    const std::size_t length = root.folder.size();
    if (length > 0 &&
        !(path.starts_with(root.folder) && path.size() > length + 1 && path[length] == '/')) {
      continue;
    }
    below = path.substr(length > 0 ? length + 1 : 0);
    return &root;
  }
  return nullptr;
}

bool Layout::is_root(std::string_view folder) const {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const Root& root) { return root.folder == folder; });
}

std::string_view Layout::rule_outside() const {
  return roots.front().split.empty() ? naming::kOutsideClasses : naming::kOutsideSplits;
}

Layout find_layout(const FolderTree& tree, const ListOptions& options, const fs::path& source) {
  return Finder(tree, options, source).run();
}

void doubt_classes(Listing& listing, const ListOptions& options) {
  if (!options.classes.empty() || !options.labels.empty()) return;
  const std::vector<std::string>& classes = listing.classes;
  const std::vector<FolderRole> roles = roles_of(classes);
  const std::vector<bool> used = used_labels(listing);
  std::vector<std::string> odd, empty;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const Kind kind = roles[label].kind;
    const bool split = kind == Kind::kSplit || kind == Kind::kUnclearSplit;
    if (kind != Kind::kPlain && !(split && options.split_folders)) odd.push_back(classes[label]);
    if (!used[label]) empty.push_back(classes[label]);
  }
  if (!odd.empty()) {
    listing.doubts.push_back(
        {Doubt::Kind::kClassName,
         "a class would be called " + quoted(odd) +
             ": that is the name of a part of a dataset, not of a class",
         "give the folder of the class folders as the source, or say what is what with "
         "--split-folders or --labels; if these are classes, say --allow-odd-classes, or name all "
         "classes with --classes FILE"});
  }
  if (!empty.empty()) {
    listing.doubts.push_back(
        {Doubt::Kind::kEmptyClass, "the class folder " + quoted(empty) + " holds no image",
         "remove it, or say that it is meant: --allow-odd-classes, or --classes FILE"});
  }
  if (classes.size() == 1) {
    listing.doubts.push_back(
        {Doubt::Kind::kOneClass, "there is only one class, " + quoted(classes),
         "give the folder of the class folders as the source; if one class is meant, say "
         "--allow-odd-classes, or --classes FILE"});
  }
}

}  // namespace packhorse

#include "sources/layout/layout.h"

#include <algorithm>

#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/tree_without_fields.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Kind = FolderRole::Kind;
using naming::join;
using naming::last_name;
using naming::quoted;

constexpr int kMostAround = 8;  // folders around everything

/// A folder among its siblings.
struct Item {
  std::string name, path;
  FolderRole role;
};

std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

/// The folders of a path, without those named like images.
std::string without_images(std::string_view folders) {
  std::string left;
  while (!folders.empty()) {
    const auto [first, rest] = naming::cut_first(folders);
    if (!is_images_folder(first)) left = join(left, first);
    folders = rest;
  }
  return left;
}

std::vector<SplitFolder> as_told(const std::vector<Item>& splits) {
  std::vector<SplitFolder> told;
  for (const Item& item : splits) told.push_back({item.role.split, item.path});
  return told;
}

class Finder {
 public:
  Finder(const FolderTree& tree, const ListOptions& options, const fs::path& source)
      : tree_(tree), options_(options), source_(source), labelled_(options.labels.for_all()) {}

  Layout run() {
    if (options_.split_folders && !options_.split_folders->empty()) return by_option();
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

  /// Classifies the folders in `folder`, which itself lies `around` folders below the source.
  Layout at(const std::string& folder, int around) const {
    const std::vector<Item> all = items(folder);
    if (!labelled_ && listed(folder) && !(all.size() == 1 && listed(all.front().path)))
      return classes_in(folder);
    if (!options_.split_folders) {
      std::vector<Item> splits;
      std::copy_if(all.begin(), all.end(), std::back_inserter(splits),
                   [](const Item& item) { return item.role.kind == Kind::kSplit; });
      // With labels from a file, a single folder named like a split is just where the images lie.
      if (splits.size() > (labelled_ ? 1 : 0)) return splits_in(folder, all, splits, around);
    }
    const Item* inner = around < kMostAround ? only_one(folder, all) : nullptr;
    if (inner == nullptr)
      return labelled_ ? all_in(folder, lone_split(folder, all)) : classes_in(folder);
    Layout layout = at(inner->path, around + 1);
    // With labels from a file, folders mean nothing unless they are splits.
    std::string& around_all = layout.roots.front().split_folder;
    if (inner->role.kind == Kind::kSplit && around_all.empty()) around_all = inner->name;
    return labelled_ && layout.roots.front().split.empty() ? all_in(folder, layout.roots.front())
                                                           : layout;
  }

  /// The single folder that holds everything; null when there is none, or when it holds images
  /// itself.
  const Item* only_one(const std::string& folder, const std::vector<Item>& all) const {
    if (tree_.holds_images(folder)) return nullptr;
    std::vector<const Item*> rest;
    for (const Item& item : all) {
      if (item.role.kind != Kind::kBeside || has_images(item)) rest.push_back(&item);
    }
    // Beside a folder of images, folders without images are neither classes nor a wrapper.
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
    layout.roots.push_back(root_of("", folder));
    if (layout.roots.front().given) return layout;
    if (!folder.empty())
      layout.notes.push_back("the classes are the folders in '" + printable(folder) + "'");
    if (tree_.folders(folder).empty() && tree_.holds_images(folder)) {
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the source holds images, but no class folders, so their classes are not known",
           "give their labels with --labels FILE or, from their names, with --label-pattern, or "
           "--unlabelled if they have none; or put them into class folders, "
           "SOURCE/<class>/<image>"});
    }
    return layout;
  }

  /// The layout of a folder whose labels are given; its images lie in the folder of `inner`.
  Layout all_in(const std::string& folder, const Layout::Root& inner) const {
    Layout layout = classes_in(folder);
    layout.roots.front().base = inner.base;
    layout.roots.front().split_folder = inner.split_folder;
    return layout;
  }

  /// Where the images of a folder lie: in the one folder named like a split, or in the folder
  /// itself.
  Layout::Root lone_split(const std::string& folder, const std::vector<Item>& all) const {
    Layout::Root root = root_of("", folder);
    if (tree_.holds_images(folder)) return root;
    const Item* only = nullptr;
    for (const Item& item : all) {
      if (!has_images(item)) continue;
      if (only != nullptr) return root;
      only = &item;
    }
    if (only == nullptr || only->role.kind != Kind::kSplit) return root;
    root.base = only->path;
    root.split_folder = only->name;
    return root;
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
    std::vector<Item> others, flat, nested;
    for (const Item& item : all) {
      if (item.role.kind == Kind::kSplit) {
        (has_labels(item) ? nested : flat).push_back(item);
      } else if (item.role.kind != Kind::kBeside && has_images(item)) {
        others.push_back(item);
      }
    }
    for (std::size_t i = 0; i < splits.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (splits[i].role.split == splits[j].role.split)
          return twice(folder, splits[j], splits[i], labelled_ ? splits : nested);
      }
    }
    if (!others.empty()) return beside_splits(folder, splits, nested, others);
    if (!labelled_ && nested.empty()) {
      return doubtful(
          folder,
          "the folders " + quoted(names_of(splits)) +
              " are named like splits, but hold images instead of class folders",
          "give their labels with --labels FILE or, from their names, with --label-pattern, or "
          "--unlabelled if they have none; or put the images into class folders, "
          "SOURCE/train/<class>/<image>; if these folders are the classes, give --split-folders "
          "none" +
              beside_as_fields(splits));
    }
    return make_splits(all, splits, flat, nested);
  }

  /// The advice to pack what lies in folders like `labels` as fields.
  std::string beside_as_fields(const std::vector<Item>& splits) const {
    for (const Item& item : items("")) {
      if (item.role.kind != Kind::kBeside) continue;
      const std::vector<std::string> inside = tree_.folders(item.path);
      const bool mirrored =
          std::find(inside.begin(), inside.end(), splits.front().name) != inside.end();
      return "; what belongs to the images in '" + printable(item.name) +
             "' becomes a field of theirs with --field-from NAME=" + printable(item.name) +
             (mirrored ? "/{split}" : "") + ", with NAME such as txt or mask.png";
    }
    return {};
  }

  /// `usable`: the folders that --split-folders could name as splits.
  Layout twice(const std::string& folder, const Item& one, const Item& other,
               const std::vector<Item>& usable) const {
    std::vector<Item> example;  // the first of each name
    for (const Item& item : usable) {
      if (std::none_of(example.begin(), example.end(),
                       [&](const Item& has) { return has.role.split == item.role.split; }))
        example.push_back(item);
    }
    return doubtful(folder,
                    "the folders " + quoted({one.name, other.name}) +
                        " are both named like the split " + one.role.split,
                    "choose one of " + quoted({one.name, other.name}) +
                        (example.empty() ? std::string(" with --split-folders")
                                         : ", e.g. " + split_folders_option(as_told(example))) +
                        "; if all of these are classes, give --split-folders none");
  }

  Layout beside_splits(const std::string& folder, const std::vector<Item>& splits,
                       const std::vector<Item>& nested, const std::vector<Item>& others) const {
    const std::string which =
        quoted(names_of(splits)) + ", named like " + (splits.size() == 1 ? "a split" : "splits");
    const std::string rest = quoted(names_of(others)) + (others.size() == 1 ? " holds" : " hold");
    const std::string none = "give --split-folders none";
    if (!labelled_ && nested.empty()) {
      return doubtful(folder,
                      "beside " + which + ", but without class folders, " + rest + " images",
                      "if all of these are classes, " + none +
                          "; if not, put the images of a split into class folders, "
                          "SOURCE/train/<class>/<image>");
    }
    return doubtful(folder, "beside " + which + ", " + rest + " images",
                    "name only the folders that are splits: " +
                        split_folders_option(as_told(labelled_ ? splits : nested)) +
                        "; if all of them are classes, " + none);
  }

  /// `flat` and `nested`: the members of `splits` without and with class folders.
  Layout make_splits(const std::vector<Item>& all, const std::vector<Item>& splits,
                     const std::vector<Item>& flat, const std::vector<Item>& nested) const {
    Layout layout;
    for (const Item& item : splits) add_root(layout, item.role.split, item.path);
    // The order must not depend on the folders' names.
    std::sort(layout.roots.begin(), layout.roots.end(),
              [](const Layout::Root& a, const Layout::Root& b) { return a.split < b.split; });
    std::vector<std::string> left;
    for (const Item& item : all) {
      if (item.role.kind != Kind::kSplit) left.push_back(item.name);
    }
    if (!left.empty())
      layout.notes.push_back("beside the split folders, left out: " + quoted(left));
    if (!labelled_ && !flat.empty()) {
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the split folder " + quoted(names_of(flat)) + " holds images, but no class folders",
           "leave it out by naming only the others, " + split_folders_option(as_told(nested)) +
               ", or give its labels with --labels " + flat.front().role.split + "=FILE"});
    }
    return layout;
  }

  Layout::Root root_of(const std::string& split, const std::string& folder) const {
    const bool by_option = labelled_ || options_.labels.covers(split);
    std::string metadata = by_option ? std::string() : metadata_of(folder);
    const bool given = by_option || !metadata.empty();
    return {.split = split,
            .folder = folder,
            .metadata = std::move(metadata),
            .given = given,
            .base = folder,
            .split_folder = {}};
  }

  /// The name of the file that gives the labels of a folder without class folders.
  std::string metadata_of(const std::string& folder) const {
    std::string name = tree_.metadata_in(folder);
    if (name.empty()) return name;
    const std::vector<Item> all = items(folder);
    const bool classes = std::any_of(all.begin(), all.end(), [&](const Item& item) {
      return item.role.kind != Kind::kImages && has_images(item);
    });
    return classes ? std::string() : name;
  }

  /// Whether a split's labels are known: by class folders or otherwise.
  bool has_labels(const Item& item) const {
    const std::string& split = item.role.split;
    return labelled_ || root_of(split, item.path).given || !is_flat(root_in(item.path, split));
  }

  void add_root(Layout& layout, const std::string& split, const std::string& folder) const {
    layout.roots.push_back(root_of(split, folder));
    Layout::Root& one = layout.roots.back();
    one.split_folder = last_name(folder);
    one.base = root_in(folder, split);
    std::string& root = one.folder;
    if (!one.given) root = one.base;
    if (root != split && !split.empty())
      layout.notes.push_back("the split " + split + " is the folder '" + printable(root) + "'");
  }

  bool is_flat(const std::string& root) const {
    return tree_.folders(root).empty() && tree_.holds_images(root);
  }

  /// Where the class folders of a split lie: in its folder, or in a folder inside that is again
  /// named like the split, or like images.
  std::string root_in(std::string folder, const std::string& split) const {
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

  /// The layout that --split-folders gives.
  Layout by_option() const {
    Layout layout;
    for (const SplitFolder& told : *options_.split_folders) {
      const std::string above(naming::directory_of(told.folder));
      const std::vector<std::string> there = tree_.folders(above);
      const std::string name(last_name(told.folder));
      if (tree_.is_archive(told.folder)) {
        layout.roots.push_back({.split = told.split,
                                .folder = told.folder,
                                .given = options_.labels.covers(told.split),
                                .archive = true});
        layout.notes.push_back("the split " + told.split + " is the archive '" +
                               printable(told.folder) + "'");
        continue;
      }
      if (std::find(there.begin(), there.end(), name) == there.end()) {
        throw Error(ErrorKind::kUsage,
                    "there is no folder '" + printable(told.folder) +
                        "', nor an archive of that name, for "
                        "the split " +
                        told.split,
                    source_ / above,
                    there.empty() ? "there are no folders" : "the folders there: " + quoted(there));
      }
      add_root(layout, told.split, told.folder);
      if (layout.roots.back().given || !is_flat(layout.roots.back().folder)) continue;
      layout.doubts.push_back(
          {Doubt::Kind::kLayout,
           "the split folder '" + printable(told.folder) + "' holds images, but no class folders",
           "leave it out of --split-folders, or give its labels with --labels " + told.split +
               "=FILE"});
    }
    return layout;
  }

  const FolderTree& tree_;
  const ListOptions& options_;
  const fs::path& source_;
  const bool labelled_;
};

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

bool Layout::some_by_folders() const {
  return std::any_of(roots.begin(), roots.end(), [](const Root& root) { return !root.given; });
}

GivenLabels Layout::given_labels(const ListOptions& options, const fs::path& source) const {
  GivenLabels given{options.labels, {}, options.classes, some_by_folders()};
  for (const Root& root : roots) {
    if (!root.metadata.empty())
      given.beside.emplace(root.split, source / naming::join(root.folder, root.metadata));
  }
  return given;
}

std::string_view Layout::rule_outside() const {
  return roots.front().split.empty() ? naming::kOutsideClasses : naming::kOutsideSplits;
}

bool Layout::Root::holds_fields(std::string_view name) const {
  return std::find(field_folders.begin(), field_folders.end(), name) != field_folders.end();
}

ImagePlace Layout::Root::place_of(std::string_view path) const {
  if (!base.empty() && path.size() > base.size() && path.starts_with(base) &&
      path[base.size()] == '/')
    path.remove_prefix(base.size() + 1);
  const auto [folders, name] = naming::directory_and_name(path);
  const auto [first, rest] = naming::cut_first(folders);
  const std::size_t dot = name.rfind('.');
  const bool extension = dot != std::string_view::npos && dot > 0;
  return {split_folder, std::string(first), without_images(folders), without_images(rest),
          std::string(extension ? name.substr(0, dot) : name)};
}

Layout find_layout(const FolderTree& tree, const ListOptions& options, const FieldSet& fields,
                   const fs::path& source) {
  const TreeWithoutFields without(tree, fields);
  Layout layout = Finder(without, options, source).run();
  for (Layout::Root& root : layout.roots)
    if (fields.any_elsewhere() && !root.archive) root.field_folders = without.left_out(root.folder);
  return layout;
}

std::string split_folders_option(const std::vector<SplitFolder>& splits) {
  std::string text = "--split-folders ";
  for (const SplitFolder& one : splits)
    text += (text.ends_with(' ') ? "" : ",") + one.split + '=' + printable(one.folder);
  return text;
}

}  // namespace packhorse

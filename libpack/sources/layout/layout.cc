#include "sources/layout/layout.h"

#include <algorithm>

#include "base/option.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/layout/folder_roles.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Id = Tree::Id;
using Ids = std::vector<Id>;
using Names = std::vector<std::string>;
using Kind = FolderRole::Kind;
using naming::join;
using naming::quoted;
using naming::shown;

constexpr int kMostAround = 8;  // folders around everything

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

class Finder {
 public:
  Finder(const Tree& tree, const SourceContents& contents, const ListOptions& options,
         const fs::path& source)
      : tree_(tree),
        contents_(contents),
        options_(options),
        source_(source),
        labelled_(options.labels.for_all()) {}

  Layout run() {
    if (options_.split_folders && !options_.split_folders->empty()) {
      by_option();
    } else if (options_.classes_at > 0 && !labelled_) {
      at_depth();
    } else {
      by_shape();
    }
    for (Layout::Root& root : layout_.roots) {
      if (!root.archive) {
        for (const Id id : tree_[*tree_.find(root.folder)].inside)
          if (tree_[id].of_fields) root.field_folders.emplace_back(tree_[id].name());
        if (!root.given) find_classes(root);
      }
      layout_.classes.insert(root.classes.begin(), root.classes.end());
    }
    note_integers();
    note_emptied();
    return std::move(layout_);
  }

 private:
  /// A folder that is named like a split.
  struct Split {
    std::string name;
    Id folder;
  };

  /// The splits among the folders in one, by their names. A folder in which nothing lies may be
  /// one, too.
  std::vector<Split> splits_in(Id folder) const {
    Ids inside;
    for (const Id id : tree_[folder].inside)
      if (!tree_[id].of_fields && !is_emptied(id)) inside.push_back(id);
    const std::vector<FolderRole> roles = roles_of(tree_.names_of(inside));
    std::vector<Split> splits;
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (roles[i].kind == Kind::kSplit) splits.push_back({roles[i].split, inside[i]});
    return splits;
  }

  /// Whether all that the folder held was left out.
  bool is_emptied(Id folder) const {
    return !tree_[folder].holds() && is_or_holds(contents_.emptied, tree_[folder].path);
  }

  static bool all_differ(const std::vector<Split>& splits) {
    std::set<std::string_view> names;
    for (const Split& one : splits) names.insert(one.name);
    return names.size() == splits.size();
  }

  /// Whether the class list names all folders in `folder`.
  bool listed(Id folder) const {
    const std::vector<std::string>& classes = options_.classes;
    const Names names = tree_.names_of(tree_[folder].inside);
    return !names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::find(classes, name) != classes.end();
    });
  }

  /// The single folder that holds all inputs, if they lie deeper than directly in it.
  std::optional<Id> only_one(Id folder) const {
    const Ids holding = tree_.holding(folder);
    if (tree_[folder].images > 0 || holding.size() != 1) return std::nullopt;
    const Tree::Folder& only = tree_[holding.front()];
    return only.images > 0 || only.below == 0 ? std::nullopt : std::optional(holding.front());
  }

  void by_shape() {
    Id at = Tree::kRoot;
    std::string split_folder;  // the first around everything that is named like a split
    for (int around = 0;; ++around) {
      const Ids& inside = tree_[at].inside;
      if (!labelled_ && listed(at) && !(inside.size() == 1 && listed(inside.front())))
        return classes_in(at, split_folder);
      if (!options_.split_folders && take_splits(at)) return;
      const std::optional<Id> inner = around < kMostAround ? only_one(at) : std::nullopt;
      if (!inner) break;
      if (split_folder.empty() && !split_named(tree_[*inner].name()).empty())
        split_folder = tree_[*inner].name();
      at = *inner;
    }
    if (!labelled_) return classes_in(at, split_folder);
    // Folders mean nothing, but for the places of fields.
    const Ids holding = tree_.holding(at);
    if (tree_[at].images == 0 && holding.size() == 1 &&
        !split_named(tree_[holding.front()].name()).empty()) {
      at = holding.front();
      if (split_folder.empty()) split_folder = tree_[at].name();
    }
    Layout::Root& root = add_root("", Tree::kRoot);
    root.base = tree_[at].path;
    root.split_folder = split_folder;
  }

  void classes_in(Id folder, const std::string& split_folder) {
    Layout::Root& root = add_root("", folder);
    root.split_folder = split_folder;
    if (root.given) return;
    if (folder != Tree::kRoot)
      layout_.notes.push_back("the classes are the folders in " + shown(tree_[folder].path));
    if (tree_[folder].images > 0 && tree_.holding(folder).empty())
      doubt("the source holds images, but no class folders, so their classes are not known");
  }

  /// Takes the folders in one that are named like splits, if there are any.
  bool take_splits(Id folder) {
    const std::vector<Split> splits = splits_in(folder);
    // With labels from a file, a single folder named like a split is just where the images lie.
    if (splits.size() <= (labelled_ ? 1 : 0)) return false;
    const Ids holding = tree_.holding(folder);
    if (holding.size() == 1 && tree_[folder].images == 0) {  // "test/train" and "test/val"
      const std::vector<Split> inner = splits_in(holding.front());
      if (inner.size() > 1 && all_differ(inner)) return false;
    }
    if (!all_differ(splits)) {
      classes_in(folder, "");
      doubt_twice(splits);
      return true;
    }
    Names others;
    for (const Id id : holding)
      if (std::ranges::none_of(splits, [&](const Split& s) { return s.folder == id; }))
        others.emplace_back(tree_[id].name());
    Ids folders = where_classes_lie(splits);
    Names flat, names;
    for (std::size_t s = 0; s < splits.size(); ++s) {
      names.emplace_back(tree_[splits[s].folder].name());
      if (is_flat(splits[s].name, splits[s].folder, folders[s])) flat.push_back(names.back());
    }
    const std::string all =
        quoted(names) + ", named like " + (names.size() > 1 ? "splits" : "a split");
    if (!others.empty()) {
      classes_in(folder, "");
      doubt("beside " + all + ", " + quoted(others) + (others.size() > 1 ? " hold" : " holds") +
            " images");
    } else if (tree_[folder].images > 0) {
      classes_in(folder, "");
      doubt("beside " + all + ", there are images");
    } else if (flat.size() == splits.size()) {
      classes_in(folder, "");
      doubt("the folders " + quoted(names) +
            " are named like splits, but hold images instead of class folders");
    } else {
      for (std::size_t s = 0; s < splits.size(); ++s)
        add_split(splits[s].name, splits[s].folder, folders[s]);
      note_left(folder, splits);
      if (!flat.empty())
        doubt("the split folder " + quoted(flat) + " holds images, but no class folders");
    }
    return true;
  }

  void note_left(Id folder, const std::vector<Split>& splits) {
    Ids left = tree_[folder].inside;
    std::erase_if(left, [&](Id id) {
      return std::ranges::any_of(splits, [&](const Split& s) { return s.folder == id; });
    });
    if (!left.empty())
      layout_.notes.push_back("beside the split folders, left out: " +
                              quoted(tree_.names_of(left)));
  }

  void doubt_twice(const std::vector<Split>& splits) {
    for (std::size_t i = 0; i < splits.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (splits[i].name == splits[j].name)
          return doubt("the folders " +
                       quoted(tree_.names_of({splits[j].folder, splits[i].folder})) +
                       " are both named like the split " + splits[i].name);
  }

  /// Where the class folders of splits lie: in their folders, or in the only folder of each. Where
  /// that is deeper in one than in another, it is not known.
  Ids where_classes_lie(const std::vector<Split>& splits) const {
    Ids folders;
    for (const Split& one : splits) folders.push_back(one.folder);
    while (!labelled_) {
      Ids inner;
      for (const Id folder : folders) {
        const std::optional<Id> only = listed(folder) ? std::nullopt : only_one(folder);
        if (only) inner.push_back(*only);
      }
      if (inner.empty() || inner.size() != folders.size()) break;
      folders = std::move(inner);
    }
    return folders;
  }

  /// Whether a split's images lie in no class folders, and their labels are not known otherwise.
  bool is_flat(const std::string& split, Id folder, Id base) const {
    const bool given = labelled_ || options_.labels.covers(split) || !metadata_of(folder).empty();
    return !given && tree_[base].images > 0 && tree_.holding(base).empty();
  }

  void add_split(const std::string& split, Id folder, Id base) {
    Layout::Root& root = add_root(split, folder);
    root.split_folder = tree_[folder].name();
    root.base = tree_[base].path;
    if (!root.given) root.folder = root.base;
    if (!split.empty() && root.folder != split)
      layout_.notes.push_back("the split " + split + " is the folder " + shown(root.folder));
    // The order must not depend on the folders' names.
    std::ranges::sort(layout_.roots, {}, &Layout::Root::split);
  }

  Layout::Root& add_root(const std::string& split, Id folder) {
    const bool by_option = labelled_ || options_.labels.covers(split);
    Layout::Root root{.split = split, .folder = tree_[folder].path, .base = tree_[folder].path};
    if (!by_option) root.metadata = metadata_of(folder);
    root.given = by_option || !root.metadata.empty();
    return layout_.roots.emplace_back(std::move(root));
  }

  /// The name of the file that gives the labels of a folder without class folders.
  std::string metadata_of(Id folder) const {
    const auto found = contents_.metadata.find(tree_[folder].path);
    const Ids holding = tree_.holding(folder);
    const bool classes =
        std::ranges::any_of(holding, [&](Id id) { return !is_images_folder(tree_[id].name()); });
    return found == contents_.metadata.end() || classes ? std::string() : found->second;
  }

  /// The layout that --classes-at gives. The folder of splits may lie above the classes.
  void at_depth() {
    Id at = Tree::kRoot;
    while (!options_.split_folders && tree_[at].depth + 1 < options_.classes_at) {
      const std::vector<Split> splits = splits_in(at);
      if (!splits.empty() && all_differ(splits) && splits.size() == tree_.holding(at).size()) {
        for (const Split& one : splits) {
          add_split(one.name, one.folder, one.folder);
          at_depth_of(one.name).class_depth = options_.classes_at - tree_[one.folder].depth;
        }
        return note_left(at, splits);
      }
      const std::optional<Id> inner = only_one(at);
      if (!inner) break;
      at = *inner;
    }
    add_root("", Tree::kRoot).class_depth = options_.classes_at;
  }

  Layout::Root& at_depth_of(const std::string& split) {
    return *std::ranges::find(layout_.roots, split, &Layout::Root::split);
  }

  /// The layout that --split-folders gives.
  void by_option() {
    std::vector<Split> splits;
    for (const SplitFolder& told : *options_.split_folders) {
      if (const std::optional<Id> folder = tree_.find(told.folder)) {
        splits.push_back({told.split, *folder});
      } else if (auto archive = contents_.read_archive
                                    ? contents_.read_archive(told.folder, told.split)
                                    : std::nullopt) {
        layout_.roots.push_back({.split = told.split,
                                 .folder = told.folder,
                                 .given = options_.labels.covers(told.split),
                                 .archive = archive,
                                 .classes = archive->classes});
        layout_.notes.push_back("the split " + told.split + " is the archive " +
                                shown(told.folder));
      } else {
        refuse_missing(told);
      }
    }
    const bool told_depth = options_.classes_at > 0;
    Ids folders;
    if (!told_depth) folders = where_classes_lie(splits);
    for (std::size_t s = 0; s < splits.size(); ++s) {
      const Id base = told_depth ? splits[s].folder : folders[s];
      const bool flat = is_flat(splits[s].name, splits[s].folder, base);
      add_split(splits[s].name, splits[s].folder, base);
      if (told_depth) at_depth_of(splits[s].name).class_depth = options_.classes_at;
      if (flat)
        doubt("the split folder " + shown(tree_[splits[s].folder].path) +
              " holds images, but no class folders");
    }
    std::ranges::sort(layout_.roots, {}, &Layout::Root::split);
  }

  [[noreturn]] void refuse_missing(const SplitFolder& told) const {
    const std::string above(naming::directory_of(told.folder));
    const std::optional<Id> folder = tree_.find(above);
    const Names there = folder ? tree_.names_of(tree_[*folder].inside) : Names();
    throw Error(ErrorKind::kUsage,
                "there is no folder " + shown(told.folder) +
                    ", nor an archive of that name, for the split " + told.split,
                source_ / above,
                there.empty() ? "there are no folders" : "the folders there: " + quoted(there));
  }

  /// The class folders of a root: those that hold an input, and those that might have been meant
  /// to.
  void find_classes(Layout::Root& root) {
    Ids level = {*tree_.find(root.folder)};
    for (int depth = 1; depth < root.class_depth; ++depth) {
      Ids next;
      for (const Id id : level)
        for (const Id inner : tree_.holding(id)) next.push_back(inner);
      level = std::move(next);
    }
    Names left;
    for (const Id id : level) {
      for (const Id one : tree_.holding(id)) root.classes.emplace(tree_[one].name());
      for (const Id one : tree_.without_images(id)) {
        const Kind kind = roles_of({std::string(tree_[one].name())}).front().kind;
        if (kind == Kind::kBeside || kind == Kind::kImages || root.class_depth > 1 ||
            is_or_holds(contents_.emptied, tree_[one].path) ||
            is_or_holds(contents_.datasets, tree_[one].path))
          left.emplace_back(tree_[one].name());
        else
          layout_.classes.emplace(tree_[one].name());
      }
    }
    if (!left.empty() && !root.classes.empty())
      layout_.notes.push_back("without an image, left out: " + quoted(left));
  }

  /// Notes that a label is not the number that its class folder is named.
  void note_integers() {
    if (!options_.classes.empty() || !layout_.some_by_folders()) return;
    std::size_t label = 0;
    const std::string* other = nullptr;
    for (const std::string& name : layout_.classes) {
      const bool digits = name.find_first_not_of("0123456789") == std::string::npos;
      if (!digits || (name.size() > 1 && name.starts_with('0'))) return;
      if (other == nullptr && name != std::to_string(label)) other = &name;
      if (other == nullptr) ++label;
    }
    if (other != nullptr)
      layout_.notes.push_back("the classes are numbers in the order of texts, so label " +
                              std::to_string(label) + " is the class " + shown(*other) + "; " +
                              opt("classes", "FILE") + " gives them another order");
  }

  void note_emptied() {
    Names emptied;
    for (const std::string& folder : contents_.emptied)
      if (const auto id = tree_.find(folder); !id || !tree_[*id].holds()) emptied.push_back(folder);
    if (!emptied.empty())
      layout_.notes.push_back("no image is left in " + quoted(emptied) + " (" + opt("exclude") +
                              ")");
  }

  /// Whether the folder is one of the `folders`, or around one.
  static bool is_or_holds(const Names& folders, const std::string& folder) {
    return std::ranges::any_of(
        folders, [&](const std::string& one) { return naming::lies_in(one, folder); });
  }

  void doubt(std::string what) {
    layout_.doubts.push_back({Doubt::Kind::kLayout, std::move(what), {}});
  }

  const Tree& tree_;
  const SourceContents& contents_;
  const ListOptions& options_;
  const fs::path& source_;
  const bool labelled_;
  Layout layout_;
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

bool Layout::some_by_folders() const {
  return std::ranges::any_of(roots, [](const Root& root) { return !root.given; });
}

GivenLabels Layout::given_labels(const ListOptions& options, const fs::path& source) const {
  GivenLabels given{options.labels, {}, options.classes, some_by_folders(), meaning_of_split};
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
  return std::ranges::find(field_folders, name) != field_folders.end();
}

std::string_view Layout::Root::class_of(std::string_view below) const {
  std::string_view folders = naming::directory_of(below), name;
  for (int depth = 0; depth < class_depth; ++depth) {
    if (folders.empty()) return {};
    std::tie(name, folders) = naming::cut_first(folders);
  }
  return name;
}

ImagePlace Layout::Root::place_of(std::string_view path) const {
  if (!base.empty() && path.size() > base.size() && path.starts_with(base) &&
      path[base.size()] == '/')
    path.remove_prefix(base.size() + 1);
  const auto [folders, name] = naming::directory_and_name(path);
  std::string_view rest = folders;
  for (int depth = 0; depth < class_depth; ++depth) rest = naming::cut_first(rest).second;
  const std::size_t dot = name.rfind('.');
  const bool extension = dot != std::string_view::npos && dot > 0;
  return {split_folder, std::string(class_of(path)), without_images(folders), without_images(rest),
          std::string(extension ? name.substr(0, dot) : name)};
}

Layout find_layout(const Tree& tree, const SourceContents& contents, const ListOptions& options,
                   const fs::path& source) {
  Layout layout = Finder(tree, contents, options, source).run();
  doubt_classes(layout, tree, contents, options, source);
  return layout;
}

Layout find_layout(const SourceContents& contents, const FieldSet& fields,
                   const ListOptions& options, const fs::path& source) {
  Layout layout = find_layout(Tree(contents, fields), contents, options, source);
  if (!layout.doubts.empty() && !options.allow_odd_classes)
    layout.doubts.front().advice = advice_for(layout, contents, options, source);
  return layout;
}

std::string split_folders_option(const std::vector<SplitFolder>& splits) {
  std::string value;
  for (const SplitFolder& one : splits)
    value += (value.empty() ? "" : ",") + one.split + '=' + one.folder;
  return opt("split_folders", value);
}

}  // namespace packhorse

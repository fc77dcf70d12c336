#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "archive/archive_scan.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "dataset/class_list.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/layout.h"
#include "sources/layout/lookalikes.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Id = Tree::Id;
using Names = std::vector<std::string>;
using naming::join;

constexpr int kMostAroundSplits = 4;      // folders around split folders
constexpr std::size_t kMostReadings = 5;  // that are told
constexpr int kMostDepth = 6;             // of class folders
constexpr std::size_t kMostParts = 16;    // folders that may be splits of their own name
constexpr std::size_t kMostFolders = 12;  // tried as sources
constexpr std::size_t kMostFields = 4;    // folders tried as fields
constexpr std::uint64_t kLargestArchive = std::uint64_t{4} << 30;  // in bytes, that is tried
constexpr std::size_t kMostExcluded = 8;                           // left out by name, together
constexpr int kMostFieldDepth = 3;                                 // of such folders
constexpr std::size_t kMostFiles = 10'000;  // looked at for an example of names

/// What a reading packs.
struct Result {
  Names classes;
  Names splits;
  std::uint64_t images = 0, left = 0;
  auto operator<=>(const Result&) const = default;
};

/// "packs 3,000 images of 2 classes, cat and dog"
std::string in_words(const Result& result, bool unlabelled) {
  std::string text = fmt::format("packs {} image{}", result.images, result.images == 1 ? "" : "s");
  if (unlabelled) {
    text += " without classes";
  } else if (result.classes.empty()) {
    text += " with their labels";
  } else if (result.classes.size() == 1) {
    text += " of 1 class, " + printable(result.classes.front());
  } else {
    text += fmt::format(
        " of {} classes, {} {} {}", result.classes.size(), printable(result.classes.front()),
        result.classes.size() == 2 ? "and" : "...", printable(result.classes.back()));
  }
  if (!result.splits.empty()) text += fmt::format(", in {}", fmt::join(result.splits, ", "));
  if (result.left > 0)
    text += fmt::format(", and leaves out {} image{}", result.left, result.left == 1 ? "" : "s");
  return text;
}

/// The contents of one folder, as if it were the source; "" = of all.
SourceContents contents_of(const SourceContents& all, const std::string& folder) {
  const std::string prefix = folder.empty() ? "" : folder + '/';
  SourceContents some;
  if (!all.disk.empty()) some.disk = all.disk / folder;
  if (all.look)
    some.look = [look = all.look, prefix](EntryTable::Entry image) {
      image.path.insert(0, prefix);
      return look(image);
    };
  const auto below = [&](std::string_view path) {
    return path.starts_with(prefix) ? path.substr(prefix.size()) : std::string_view();
  };
  for (std::size_t i = 0; i < all.images.size(); ++i) {
    const std::string path = all.images.path_of(i);
    const auto [directory, name] = naming::directory_and_name(below(path));
    if (!name.empty()) some.images.add(directory, name, all.images.facts(i));
  }
  for (const SourceContents::Other& other : all.others)
    if (const auto path = below(other.path); !path.empty())
      some.others.push_back({std::string(path), other.rule, other.problem});
  for (const std::string& path : all.folders)
    if (const auto inside = below(path); !inside.empty()) some.folders.emplace_back(inside);
  for (const std::string& path : all.datasets)
    if (const auto inside = below(path); !inside.empty()) some.datasets.emplace_back(inside);
  for (const auto& [one, other] : all.twins)
    if (!below(one).empty() && !below(other).empty())
      some.twins.emplace_back(below(one), below(other));
  if (folder.empty()) some.field_files = all.field_files;
  for (const auto& [path, file] : all.metadata)
    if (path == folder || !below(path).empty()) some.metadata.emplace(below(path), file);
  return some;
}

/// A field's name for such a file: "mask.png", or only "json" where it is no image.
std::string field_name(std::string_view file, std::string_view what = "mask") {
  const std::size_t dot = file.rfind('.');
  std::string extension = dot == std::string_view::npos ? "" : lower_case(file.substr(dot + 1));
  std::string name = lower_case(what);
  for (std::string* const text : {&extension, &name})  // only what a field's name may have
    std::erase_if(*text,
                  [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); });
  if (extension.empty() || name.empty()) return {};
  return naming::has_any_image_name(file) ? name + '.' + extension : extension;
}

class Readings {
 public:
  Readings(const Layout& layout, const SourceContents& contents, const ListOptions& options,
           const fs::path& source)
      : layout_(layout),
        contents_(contents),
        options_(options),
        source_(source),
        fields_(options.fields, source),
        tree_(contents, fields_) {}

  std::string in_words() {
    const Doubt& doubt = layout_.doubts.front();
    if (!contents_.datasets.empty()) return beside_datasets();
    Names annotated;
    if (contents_.annotated_readings)
      annotated = contents_.annotated_readings(layout_, contents_, options_, source_);
    try_splits();
    if (!options_.labels.for_all()) {
      try_without_archives();
      if (!contents_.twins.empty())
        try_excluding({as_glob(contents_.twins.front().second) + "/*"}, false);
      if (doubt.kind == Doubt::Kind::kEmptyClass) try_without_empty();
      if (may_be_classes(renderings(contents_, layout_.roots.front()))) try_depths();
      if (annotated.empty()) try_fields();
      if (doubt.kind != Doubt::Kind::kLayout) try_odd();
      try_depths();
      if (doubt.kind == Doubt::Kind::kLayout) try_folders();
      if (flat_) try_unlabelled();
      if (told_.empty()) try_without();
    }
    if (told_.empty() && doubt.kind == Doubt::Kind::kEmptySplit) try_odd();
    told_.insert(told_.begin(), annotated.begin(), annotated.end());
    std::string text;
    for (const std::string& one : told_) text += (text.empty() ? "" : "\n") + one;
    if (!options_.labels.for_all())
      text += std::string(text.empty() ? "" : "\n") + opt("labels", "FILE") +
              " gives the labels in a file, " + opt("label_pattern") +
              " finds them in the images' names";
    return text;
  }

 private:
  /// The readings of a source that holds packed data: without it, or that alone.
  std::string beside_datasets() {
    const std::string& first = contents_.datasets.front();
    if (first.empty())
      return opt("source_kind", "packed") +
             "  packs that dataset again\n"
             "or move the folders of images out of it, and pack these";
    Names globs;
    for (const std::string& folder : contents_.datasets) globs.push_back(as_glob(folder) + "/*");
    try_excluding(globs, false);
    told_.push_back("the source " + naming::shell_word((source_ / first).native()) +
                    "  packs that dataset again");
    return fmt::format("{}", fmt::join(told_, "\n"));
  }

  /// Tries a reading; what it packs, or nothing when it does not work.
  static std::optional<Result> result_of(const SourceContents& contents, const Tree& tree,
                                         const ListOptions& options, const fs::path& source) {
    try {
      const Layout layout = find_layout(tree, contents, options, source);
      const bool doubted = std::ranges::any_of(layout.roots, [](const Layout::Root& root) {
        return root.archive && root.archive->doubted;
      });
      if ((doubted || !layout.doubts.empty()) && !options.allow_odd_classes) return std::nullopt;
      Result result = result_in(layout);
      for (const Layout::Root& root : layout.roots)
        if (root.archive) result.images += root.archive->images;
      for (Id id = 0; id < tree.size(); ++id) {
        if (tree[id].images == 0) continue;
        const std::string path = join(tree[id].path, "x");
        std::string_view below;
        const Layout::Root* root = layout.root_of(path, below);
        if (root == nullptr) {
          result.left += tree[id].images;
        } else if (!root->given && root->class_of(below).empty()) {
          return std::nullopt;  // they would be rejected
        } else {
          result.images += tree[id].images;
        }
      }
      return checked(layout, result);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  static std::optional<Result> result_of(const SourceContents& contents, const ListOptions& options,
                                         const fs::path& source) {
    const FieldSet fields(options.fields, source);
    return result_of(contents, Tree(contents, fields), options, source);
  }

  /// The same of a reading with fields that lie elsewhere: all is done as it would be for packing.
  std::optional<Result> result_with_fields(const ListOptions& options) const {
    try {
      const FieldSet fields(options.fields, source_);
      std::vector<FieldFile> files;
      SourceContents contents = without_fields(contents_, fields, files);
      const Layout layout = find_layout(Tree(contents, fields), contents, options, source_);
      if (!layout.doubts.empty() && !options.allow_odd_classes) return std::nullopt;
      std::erase_if(contents.others, [](const auto& other) { return other.rule.empty(); });
      Result result = result_in(layout);
      result.left = contents.images.size();
      Listing listing = lay_out(contents, layout, options, source_);
      attach_fields(listing, layout, fields, std::move(files), source_,
                    [](EntryTable::Facts&, const FoundFields&) {});
      for (const SplitListing& split : listing.splits) {
        if (!split.rejects.empty()) return std::nullopt;
        result.images += split.entries.size();
      }
      result.left -= result.images;
      return checked(layout, result);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::optional<Result> result_with(const ListOptions& options) const {
    return options.fields.places.empty() ? result_of(contents_, tree_, options, source_)
                                         : result_with_fields(options);
  }

  static Result result_in(const Layout& layout) {
    Result result;
    result.classes.assign(layout.classes.begin(), layout.classes.end());
    for (const Layout::Root& root : layout.roots)
      if (!root.split.empty()) result.splits.push_back(root.split);
    return result;
  }

  static std::optional<Result> checked(const Layout& layout, const Result& result) {
    class_list_text(result.classes);  // refuses names that it cannot hold
    const bool works = result.images > 0 && !(result.classes.empty() && layout.some_by_folders());
    return works ? std::optional(result) : std::nullopt;
  }

  /// The contents without what may be fields, which goes to `files`.
  static SourceContents without_fields(const SourceContents& all, const FieldSet& fields,
                                       std::vector<FieldFile>& files) {
    SourceContents rest = contents_of(all, "");
    EntryTable images;
    for (std::size_t i = 0; i < all.images.size(); ++i) {
      const std::string path = all.images.path_of(i);
      if (fields.may_be_elsewhere(path)) {
        rest.folders.emplace_back(naming::directory_of(path));
        files.push_back({path});
      } else {
        images.add_from(all.images, i);
      }
    }
    rest.images = std::move(images);
    for (const SourceContents::Other& other : all.others)
      if (fields.may_be_elsewhere(other.path)) files.push_back({other.path});
    for (const FieldFile& file : all.field_files) files.push_back({file.path});
    return rest;
  }

  /// Tells a reading that works if it packs something else than those that have been told.
  bool take(const std::string& option, const ListOptions& options, std::optional<Result> result) {
    if (!result) return false;
    result->left += elsewhere_;
    const bool unlabelled = options.labels.unlabelled;
    auto& known = unlabelled ? unlabelled_ : results_;
    if (std::ranges::find(known, *result) != known.end()) return false;
    known.push_back(*result);
    told_.push_back(option + "  " + packhorse::in_words(*result, unlabelled));
    return true;
  }

  /// Tries the same contents with other options.
  void try_with(const std::string& option, const ListOptions& options) {
    if (told_.size() < kMostReadings) take(option, options, result_with(options));
  }

  void try_depths() {
    int deepest = 0;
    for (Id id = 0; id < tree_.size(); ++id)
      if (tree_[id].images > 0) deepest = std::max(deepest, tree_[id].depth);
    for (int depth = std::min(deepest, kMostDepth); depth > 0; --depth) {
      ListOptions options = options_;
      options.classes_at = depth;
      try_with(opt("classes_at", std::to_string(depth)), options);
    }
    flat_ = deepest < 2;
  }

  /// Folders side by side that are named like splits, or that all hold folders of the same names.
  void try_splits() {
    if (options_.split_folders) return;
    for (Id id = 0; id < tree_.size() && told_.size() < 2; ++id) {
      if (tree_[id].depth > kMostAroundSplits || tree_[id].of_fields) continue;
      const std::vector<Id> inside = tree_.holding(id);
      const std::vector<FolderRole> roles = roles_of(tree_.names_of(inside));
      std::map<std::string, SplitFolder> named;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const auto hinted = splits_hinted(tree_[inside[i]].name());
        const std::string split = roles[i].kind == FolderRole::Kind::kSplit ? roles[i].split
                                  : hinted.size() == 1 ? std::string(*hinted.begin())
                                                       : std::string();
        const bool classes = options_.labels.for_all() || options_.labels.covers(split) ||
                             tree_[inside[i]].images == 0;
        if (!split.empty() && classes)
          named.try_emplace(split, SplitFolder{split, tree_[inside[i]].path});
      }
      for (const auto& [split, archive] : archives_in(id))
        named.try_emplace(split, SplitFolder{split, archive});
      try_split_folders(named);
    }
    for (Id id = 0; id < tree_.size() && told_.size() < 2; ++id) {
      const std::vector<Id> inside = tree_.holding(id);
      if (tree_[id].depth > 2 || inside.size() < 2 || inside.size() > kMostParts) continue;
      std::map<std::string, SplitFolder> parts;
      const Names first = tree_.names_of(tree_.holding(inside.front()));
      for (const Id one : inside) {
        const std::string name(tree_[one].name());
        const bool beside = roles_of({name}).front().kind == FolderRole::Kind::kBeside;
        if (first.size() < 2 || beside || !naming::is_split_name(name) ||
            tree_.names_of(tree_.holding(one)) != first)
          break;
        parts.try_emplace(name, SplitFolder{name, tree_[one].path});
      }
      if (parts.size() == inside.size()) try_split_folders(parts);
    }
  }

  /// The archives in a folder that are named like splits, and not too large to be tried.
  std::map<std::string, std::string> archives_in(Id folder) const {
    std::map<std::string, std::string> archives;
    for (const SourceContents::Other& other : contents_.others) {
      const auto [around, name] = naming::directory_and_name(other.path);
      const std::string split = split_named(archive_stem(name));
      std::error_code code;
      if (contents_.read_archive && other.rule == naming::kNotAnImage &&
          around == tree_[folder].path && !split.empty() &&
          fs::file_size(source_ / other.path, code) <= kLargestArchive)
        archives.emplace(split, other.path);
    }
    return archives;
  }

  void try_split_folders(const std::map<std::string, SplitFolder>& named) {
    if (named.empty()) return;
    ListOptions options = options_;
    options.split_folders.emplace();
    for (const auto& [split, folder] : named) options.split_folders->push_back(folder);
    try_with(split_folders_option(*options.split_folders), options);
  }

  /// Folders that are such sources themselves.
  void try_folders() {
    if (is_file(source_)) return;  // what is in an archive is no source
    if (fields_.any_elsewhere() || options_.split_folders) return;  // they are in this source
    std::vector<Id> folders;
    for (Id id = 1; id < tree_.size(); ++id) {
      const Tree::Folder& folder = tree_[id];
      if (folder.depth <= 2 && !folder.of_fields && folder.below > folder.images)
        folders.push_back(id);
    }
    std::ranges::stable_sort(folders,
                             [this](Id a, Id b) { return tree_[a].below > tree_[b].below; });
    if (folders.size() > kMostFolders) folders.resize(kMostFolders);
    for (const Id id : folders) {
      // A small part of the source is no reading of it.
      if (told_.size() == kMostReadings || kMostParts * tree_[id].below < contents_.images.size())
        return;
      const std::string& folder = tree_[id].path;
      const SourceContents inside = contents_of(contents_, folder);
      std::optional<Result> result = result_of(inside, options_, source_ / folder);
      if (!result && id == folders.front()) try_with_option(folder, inside);
      if (!result) continue;
      result->left += contents_.images.size() - inside.images.size();
      if (std::ranges::find(results_, *result) != results_.end()) continue;
      results_.push_back(*result);
      told_.push_back("the source " + naming::shell_word((source_ / folder).native()) + "  " +
                      packhorse::in_words(*result, false));
    }
  }

  /// A folder that is no such source, but is with one option more.
  void try_with_option(const std::string& folder, const SourceContents& contents) {
    const fs::path source = source_ / folder;
    const Layout layout = find_layout(Tree(contents, fields_), contents, options_, source);
    if (layout.doubts.empty()) return;
    Readings readings(layout, contents, options_, source);
    readings.elsewhere_ = contents_.images.size() - contents.images.size();
    readings.try_fields();
    readings.try_depths();
    for (std::size_t i = 0; i < std::min<std::size_t>(readings.told_.size(), 2); ++i)
      told_.push_back("the source " + naming::shell_word(source.native()) + " with " +
                      readings.told_[i]);
  }

  /// Without what the globs match. Leaving out the larger part is not meant.
  bool try_excluding(const Names& globs, bool unlabelled) {
    ListOptions options = options_;
    options.labels.unlabelled = unlabelled;
    std::string option;
    for (const std::string& glob : globs) {
      options.exclude.push_back(glob);
      option += (option.empty() ? "" : " ") + opt("exclude", glob);
    }
    SourceContents rest = contents_of(contents_, "");
    leave_out(rest, globs);
    const std::uint64_t without = contents_.images.size() - rest.images.size();
    std::optional<Result> result = Readings(layout_, rest, options, source_).result_with(options);
    if (!result || result->images < without) return false;
    result->left += without;
    return told_.size() < kMostReadings &&
           take(option + (unlabelled ? " " + opt("unlabelled") : ""), options, result);
  }

  /// Without the class folders that hold nothing.
  void try_without_empty() {
    Names empty;
    for (const Layout::Root& root : layout_.roots)
      if (const auto folder = tree_.find(root.folder); folder && root.class_depth == 1)
        for (const Id id : tree_.without_images(*folder))
          empty.push_back(as_glob(tree_[id].path) + "/*");
    if (!empty.empty() && empty.size() <= kMostExcluded) try_excluding(empty, false);
  }

  /// Without one of the folders in the source.
  void try_without() {
    std::size_t tried = 0;
    for (const Id id : tree_.holding(Tree::kRoot)) {
      if (++tried > kMostFolders) return;
      const Names globs = {as_glob(tree_[id].path) + "/*"};
      if (!try_excluding(globs, false)) try_excluding(globs, true);
    }
  }

  /// Without the archives beside folders of images.
  void try_without_archives() {
    Names archives;
    for (const SourceContents::Other& other : contents_.others)
      if (other.rule == naming::kNotAnImage && has_archive_name(other.path))
        archives.push_back(as_glob(other.path));
    if (!archives.empty() && archives.size() <= kMostExcluded) try_excluding(archives, false);
  }

  void try_odd() {
    ListOptions options = options_;
    options.allow_odd_classes = true;
    try_with(opt("allow_odd_classes"), options);
  }

  void try_unlabelled() {
    ListOptions options = options_;
    options.labels.unlabelled = true;
    try_with(opt("unlabelled"), options);
  }

  /// Whether what looks like renderings may as well be classes, by their names.
  static bool may_be_classes(const Names& folders) {
    const std::vector<FolderRole> roles = roles_of(folders);
    return !folders.empty() && std::ranges::all_of(roles, [](const FolderRole& role) {
      return role.kind == FolderRole::Kind::kPlain;
    });
  }

  /// Masks and the like as fields of the images that they belong to.
  void try_fields() {
    if (const auto found = companions_in(contents_, layout_)) {
      if (!found->place.empty())
        take_field(field_name(found->file), {join(place_of_base(), "{dir}/" + found->place),
                                             "{split}/{dir}/" + found->place});
      try_excluding({found->glob}, false);
    }
    const Layout::Root& root = layout_.roots.front();
    const Names same = renderings(contents_, root);
    std::set<std::string> tried;
    for (Id id = 1; id < tree_.size() && tried.size() < kMostFields; ++id) {
      const std::string name(tree_[id].name());
      const bool rendering = naming::directory_of(tree_[id].path) == root.folder &&
                             std::ranges::find(same, name) != same.end();
      const bool beside = roles_of({name}).front().kind == FolderRole::Kind::kBeside;
      if (!(rendering || beside) || is_images_folder(name) || tree_[id].depth > kMostFieldDepth)
        continue;
      const Names files = files_in(tree_[id].path);
      if (files.empty() || !tried.insert(name).second) continue;
      Names places;
      if (const std::optional<Pair> pair = first_pair(files)) places = patterns_of(*pair);
      if (places.empty()) places.push_back(tree_[id].path);
      std::string what(naming::last_name(naming::directory_of(places.back())));
      if (const std::size_t split = what.find("{split}"); split != std::string::npos)
        what.erase(split, std::string_view("{split}").size());
      take_field(
          field_name(naming::last_name(files.front()), beside || what.empty() ? "mask" : what),
          places);
    }
  }

  /// Tells the first of the places that works for a field.
  void take_field(const std::string& name, const Names& places) {
    if (name.empty()) return;
    ListOptions at_depth = options_, unlabelled = options_;
    at_depth.classes_at = 1;
    unlabelled.labels.unlabelled = true;
    const std::pair<std::string, const ListOptions&> all[] = {
        {"", options_},
        {" " + opt("classes_at", "1"), at_depth},
        {" " + opt("unlabelled"), unlabelled}};
    for (const auto& [more, base] : all) {
      for (const bool required : {true, false}) {
        for (const std::string& place : places) {
          const bool by_class = place.find("{class}") != std::string::npos;
          if (base.classes_at > options_.classes_at && !by_class) continue;
          ListOptions options = base;
          options.fields.places.push_back({name, place, required});
          const std::string option =
              opt(required ? "field_from" : "optional_field_from", name + '=' + place) + more;
          if (take(option, options, result_with(options))) return;
        }
      }
    }
  }

  /// What a pattern begins with.
  std::string place_of_base() const {
    const Layout::Root& root = layout_.roots.front();
    return !root.split.empty() && root.folder == root.split_folder ? "{split}" : root.folder;
  }

  /// The first files in a folder, or deeper in it, images or not.
  Names files_in(const std::string& folder) const {
    Names files;
    const auto is_in = [&](std::string_view path) {
      return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
    };
    for (std::size_t i = 0; i < contents_.images.size() && files.size() < kMostFiles; ++i)
      if (std::string path = contents_.images.path_of(i); is_in(path)) files.push_back(path);
    for (const SourceContents::Other& other : contents_.others)
      if (files.size() < kMostFiles && is_in(other.path) && other.rule == naming::kNotAnImage)
        files.push_back(other.path);
    std::ranges::sort(files);
    return files;
  }

  /// A file and an image whose stem its name begins with.
  struct Pair {
    std::string file, image, ending;  ///< paths; "_mask.png" for 1.jpg and 1_mask.png
  };

  /// Of several images whose stems fit, the one that lies nearest to the file.
  std::optional<Pair> first_pair(const Names& files) const {
    std::multimap<std::string, std::string> images;  // by stem
    for (std::size_t i = 0; i < contents_.images.size() && images.size() < kMostFiles; ++i) {
      std::string path = contents_.images.path_of(i);
      if (std::binary_search(files.begin(), files.end(), path)) continue;
      const std::string name(naming::last_name(path));
      images.emplace(name.substr(0, name.rfind('.')), std::move(path));
    }
    const auto in_common = [](const std::string& one, const std::string& other) {
      return std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin();
    };
    for (const std::string& file : files) {
      const std::string name(naming::last_name(file));
      for (std::size_t length = name.size() - 1; length > 0; --length) {
        const auto [first, last] = images.equal_range(name.substr(0, length));
        if (first == last) continue;
        const auto nearest = std::max_element(first, last, [&](const auto& a, const auto& b) {
          return in_common(file, a.second) < in_common(file, b.second);
        });
        return Pair{file, nearest->second, name.substr(length)};
      }
    }
    return std::nullopt;
  }

  /// Places of the file, with placeholders for what its folders have in common with the image's.
  static Names patterns_of(const Pair& pair) {
    const Names of_image = naming::folders_of(pair.image), of_file = naming::folders_of(pair.file);
    const auto pattern = [&](const std::string& of_first) {
      std::string made;
      for (std::size_t i = 0; i < of_file.size(); ++i) {
        std::string folder = of_file[i];
        for (const std::string& name : of_image) {
          const std::size_t at = folder.find(name);
          if (at == std::string::npos || split_named(name).empty()) continue;
          folder.replace(at, name.size(), "{split}");
          break;
        }
        const bool same = std::ranges::find(of_image, folder) != of_image.end();
        const bool around = i == 0 && !of_image.empty() && folder == of_image.front();
        if (same) folder = around ? (of_first.empty() ? folder : of_first) : "{dir}";
        if (folder != "{dir}" || !made.ends_with("{dir}")) made = join(made, folder);
      }
      return made;
    };
    const std::string by_class = pattern("{class}"), plain = pattern("");
    Names places;
    // FOLDER stands for FOLDER/{dir}/{stem}.EXTENSION.
    const bool extension_alone = pair.ending.starts_with('.') && pair.ending.rfind('.') == 0;
    if (extension_alone && !plain.ends_with("{dir}") && !plain.empty()) {
      places.push_back(by_class);
      if (plain != by_class) places.push_back(plain);
    }
    places.push_back(join(by_class, "{stem}" + pair.ending));
    if (plain != by_class) places.push_back(join(plain, "{stem}" + pair.ending));
    return places;
  }

  const Layout& layout_;
  const SourceContents& contents_;
  const ListOptions& options_;
  const fs::path& source_;
  const FieldSet fields_;
  const Tree tree_;
  bool flat_ = false;
  std::uint64_t elsewhere_ = 0;  ///< images of the source that are not in the contents
  std::vector<Result> results_, unlabelled_;
  Names told_;
};

}  // namespace

std::string advice_for(const Layout& layout, const SourceContents& contents,
                       const ListOptions& options, const fs::path& source) {
  return Readings(layout, contents, options, source).in_words();
}

}  // namespace packhorse

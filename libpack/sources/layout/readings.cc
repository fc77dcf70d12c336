#include "sources/layout/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/ascii.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/lookalikes.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Id = Tree::Id;
using Names = std::vector<std::string>;
using naming::join;

constexpr std::size_t kMostReadings = 5;    // that are told
constexpr int kMostDepth = 6;               // of class folders
constexpr std::size_t kMostParts = 16;      // folders that may be splits of their own name
constexpr std::size_t kMostFolders = 12;    // tried as sources
constexpr std::size_t kMostFields = 4;      // folders tried as fields
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
      some.others.push_back({std::string(path), other.rule, other.reason});
  for (const std::string& path : all.folders)
    if (const auto inside = below(path); !inside.empty()) some.folders.emplace_back(inside);
  for (const std::string& path : all.datasets)
    if (const auto inside = below(path); !inside.empty()) some.datasets.emplace_back(inside);
  for (const auto& [path, file] : all.metadata)
    if (path == folder || !below(path).empty()) some.metadata.emplace(below(path), file);
  return some;
}

/// "mask.png" for a file with the extension of an image, else its extension; only what a field's
/// name may have.
std::string field_name(std::string_view file) {
  const std::size_t dot = file.rfind('.');
  std::string extension = dot == std::string_view::npos ? "" : lower_case(file.substr(dot + 1));
  std::erase_if(extension,
                [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); });
  if (extension.empty()) return {};
  return naming::has_any_image_name(file) ? "mask." + extension : extension;
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
    try_splits();
    if (!options_.labels.for_all()) {
      try_fields();
      try_depths();
      if (doubt.kind == Doubt::Kind::kLayout) try_folders();
      if (doubt.kind != Doubt::Kind::kLayout) try_odd();
      if (flat_) try_unlabelled();
    }
    if (told_.empty() && doubt.kind == Doubt::Kind::kEmptySplit) try_odd();
    std::string text;
    for (const std::string& one : told_) text += (text.empty() ? "" : "\n") + one;
    if (!options_.labels.for_all())
      text += std::string(text.empty() ? "" : "\n") +
              "--labels FILE gives the labels in a file, --label-pattern finds them in the images' "
              "names";
    return text;
  }

 private:
  /// The readings of a source that holds packed data: without it, or that alone.
  std::string beside_datasets() {
    ListOptions options = options_;
    std::string text = "--exclude " + shell_word(printable(contents_.datasets.front()) + "/*");
    for (const std::string& folder : contents_.datasets) options.exclude.push_back(folder + "/*");
    SourceContents rest = contents_of(contents_, "");
    leave_out(rest, options.exclude);
    for (std::size_t i = 1; i < contents_.datasets.size(); ++i)
      text += " --exclude " + shell_word(printable(contents_.datasets[i]) + "/*");
    take(text, rest, options);
    told_.push_back("the source " + shell_word((source_ / contents_.datasets.front()).native()) +
                    "  packs that dataset again");
    return fmt::format("{}", fmt::join(told_, "\n"));
  }

  /// Tries a reading; what it packs, or nothing when it does not work.
  static std::optional<Result> result_of(const SourceContents& all, const ListOptions& options,
                                         const fs::path& source) {
    try {
      const FieldSet fields(options.fields, source);
      std::vector<std::string> files;  // that may be fields
      std::optional<SourceContents> without;
      if (fields.any_elsewhere()) without = without_fields(all, fields, files);
      const SourceContents& contents = without ? *without : all;
      const Tree tree(contents, fields);
      const Layout layout = find_layout(tree, contents, options, source);
      if (!layout.doubts.empty() && !options.allow_odd_classes) return std::nullopt;
      Result result;
      for (std::size_t i = 0; i < contents.images.size(); ++i) {
        const std::string path = contents.images.path_of(i);
        std::string_view below;
        const Layout::Root* root = layout.root_of(path, below);
        if (root == nullptr) {
          ++result.left;
        } else if (!root->given && root->class_of(below).empty()) {
          return std::nullopt;  // it would be rejected
        } else {
          ++result.images;
        }
      }
      if (result.images == 0 || !have_fields(contents, layout, fields, files)) return std::nullopt;
      result.classes.assign(layout.classes.begin(), layout.classes.end());
      for (const Layout::Root& root : layout.roots)
        if (!root.split.empty()) result.splits.push_back(root.split);
      if (result.classes.empty() && layout.some_by_folders()) return std::nullopt;
      return result;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// The contents without the images that may be fields, whose paths go to `files`.
  static SourceContents without_fields(const SourceContents& all, const FieldSet& fields,
                                       std::vector<std::string>& files) {
    SourceContents rest = contents_of(all, "");
    EntryTable images;
    for (std::size_t i = 0; i < all.images.size(); ++i) {
      const std::string path = all.images.path_of(i);
      if (fields.may_be_elsewhere(path)) {
        rest.folders.emplace_back(naming::directory_of(path));
        files.push_back(path);
      } else {
        images.add_from(all.images, i);
      }
    }
    rest.images = std::move(images);
    for (const SourceContents::Other& other : all.others) files.push_back(other.path);
    for (const FieldFile& file : all.field_files) files.push_back(file.path);
    std::sort(files.begin(), files.end());
    return rest;
  }

  /// Whether some images have the fields, and each those that it must have.
  static bool have_fields(const SourceContents& contents, const Layout& layout,
                          const FieldSet& fields, const std::vector<std::string>& files) {
    for (const FieldSet::Field& field : fields.all()) {
      bool some = !field.place;
      for (std::size_t i = 0; i < contents.images.size() && field.place; ++i) {
        const std::string path = contents.images.path_of(i);
        std::string_view below;
        const Layout::Root* root = layout.root_of(path, below);
        if (root == nullptr) continue;
        const std::optional<std::string> file = field.place->file_of(root->place_of(path));
        const bool has = file && std::binary_search(files.begin(), files.end(), *file);
        if (!has && field.required) return false;
        some = some || has;
      }
      if (!some) return false;
    }
    return true;
  }

  /// Tells a reading if it works and packs something else than those that have been told.
  bool take(const std::string& option, const SourceContents& contents, const ListOptions& options) {
    if (told_.size() == kMostReadings) return false;
    const std::optional<Result> result = result_of(contents, options, source_);
    if (!result) return false;
    const bool unlabelled = options.labels.unlabelled;
    auto& known = unlabelled ? unlabelled_ : results_;
    if (std::find(known.begin(), known.end(), *result) != known.end()) return false;
    known.push_back(*result);
    told_.push_back(option + "  " + packhorse::in_words(*result, unlabelled));
    return true;
  }

  void try_depths() {
    int deepest = 0;
    for (Id id = 0; id < tree_.size(); ++id)
      if (tree_[id].images > 0) deepest = std::max(deepest, tree_[id].depth);
    for (int depth = std::min(deepest, kMostDepth); depth > 0; --depth) {
      ListOptions options = options_;
      options.classes_at = depth;
      take("--classes-at " + std::to_string(depth), contents_, options);
    }
    flat_ = deepest < 2;
  }

  /// Folders side by side that are named like splits, or that all hold folders of the same names.
  void try_splits() {
    if (options_.split_folders) return;
    for (Id id = 0; id < tree_.size() && told_.size() < 2; ++id) {
      if (tree_[id].depth > 2 || tree_[id].of_fields) continue;
      const std::vector<Id> inside = tree_.holding(id);
      const std::vector<FolderRole> roles = roles_of(tree_.names_of(inside));
      std::map<std::string, SplitFolder> named;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const auto hinted = splits_hinted(tree_[inside[i]].name());
        const std::string split = roles[i].kind == FolderRole::Kind::kSplit ? roles[i].split
                                  : hinted.size() == 1 ? std::string(*hinted.begin())
                                                       : std::string();
        const bool classes = options_.labels.for_all() || tree_[inside[i]].images == 0;
        if (!split.empty() && classes) named.try_emplace(split, split, tree_[inside[i]].path);
      }
      try_split_folders(named);
    }
    for (Id id = 0; id < tree_.size() && told_.size() < 2; ++id) {
      const std::vector<Id> inside = tree_.holding(id);
      if (tree_[id].depth > 2 || inside.size() < 2 || inside.size() > kMostParts) continue;
      std::map<std::string, SplitFolder> parts;
      const Names first = tree_.names_of(tree_.holding(inside.front()));
      for (const Id one : inside) {
        const std::string name(tree_[one].name());
        if (first.size() < 2 || !naming::is_split_name(name) ||
            tree_.names_of(tree_.holding(one)) != first)
          break;
        parts.try_emplace(name, name, tree_[one].path);
      }
      if (parts.size() == inside.size()) try_split_folders(parts);
    }
  }

  void try_split_folders(const std::map<std::string, SplitFolder>& named) {
    if (named.empty()) return;
    ListOptions options = options_;
    options.split_folders.emplace();
    for (const auto& [split, folder] : named) options.split_folders->push_back(folder);
    take(shell_words(split_folders_option(*options.split_folders)), contents_, options);
  }

  /// Quotes the value of an option where a shell needs that.
  static std::string shell_words(const std::string& option) {
    const std::size_t blank = option.find(' ');
    return option.substr(0, blank + 1) + shell_word(option.substr(blank + 1));
  }

  /// Folders that are such sources themselves.
  void try_folders() {
    std::vector<Id> folders;
    for (Id id = 1; id < tree_.size(); ++id) {
      const Tree::Folder& folder = tree_[id];
      if (folder.depth <= 2 && !folder.of_fields && folder.below > folder.images)
        folders.push_back(id);
    }
    std::stable_sort(folders.begin(), folders.end(),
                     [this](Id a, Id b) { return tree_[a].below > tree_[b].below; });
    if (folders.size() > kMostFolders) folders.resize(kMostFolders);
    for (const Id id : folders) {
      if (told_.size() == kMostReadings) return;
      const std::string& folder = tree_[id].path;
      const SourceContents inside = contents_of(contents_, folder);
      std::optional<Result> result = result_of(inside, options_, source_ / folder);
      if (!result) continue;
      result->left += contents_.images.size() - inside.images.size();
      if (std::find(results_.begin(), results_.end(), *result) != results_.end()) continue;
      results_.push_back(*result);
      told_.push_back("the source " + shell_word((source_ / folder).native()) + "  " +
                      packhorse::in_words(*result, false));
    }
  }

  void try_odd() {
    ListOptions options = options_;
    options.allow_odd_classes = true;
    take("--allow-odd-classes", contents_, options);
  }

  void try_unlabelled() {
    ListOptions options = options_;
    options.labels.unlabelled = true;
    take("--unlabelled", contents_, options);
  }

  /// Masks and the like as fields of the images that they belong to.
  void try_fields() {
    if (const auto found = companions_in(contents_, layout_))
      take_field(found->suffix.ends_with(".") ? "" : field_name(found->file),
                 join(place_of_base(), "{dir}/{stem}" + printable(found->suffix)));
    const Layout::Root& root = layout_.roots.front();
    const Names same = renderings(contents_, root);
    std::size_t tried = 0;
    const std::optional<Id> folder = tree_.find(root.folder);
    for (const Id id : folder ? tree_[*folder].inside : std::vector<Id>()) {
      const std::string name(tree_[id].name());
      const bool beside = roles_of({name}).front().kind == FolderRole::Kind::kBeside ||
                          std::find(same.begin(), same.end(), name) != same.end();
      if (!beside || tried++ == kMostFields) continue;
      const Names files = files_in(tree_[id].path);
      if (files.empty()) continue;
      const std::string place = join(place_of_base(), printable(name));
      const std::string ending = ending_of(files, tree_[id].path);
      if (!ending.empty()) take_field(field_name(files.front()), place + "/{stem}" + ending);
      take_field(field_name(files.front()), place);
    }
  }

  void take_field(const std::string& name, const std::string& place) {
    if (name.empty()) return;
    for (const bool unlabelled : {false, true}) {
      for (const bool required : {true, false}) {
        ListOptions options = options_;
        options.fields.places.push_back({name, place, required});
        options.labels.unlabelled = unlabelled;
        const std::string option =
            std::string(required ? "--field-from " : "--optional-field-from ") +
            shell_word(name + '=' + place) + (unlabelled ? " --unlabelled" : "");
        if (take(option, contents_, options)) return;
      }
    }
  }

  /// What a pattern begins with.
  std::string place_of_base() const {
    const Layout::Root& root = layout_.roots.front();
    return !root.split.empty() && root.folder == root.split_folder ? "{split}"
                                                                   : printable(root.folder);
  }

  /// The first files directly in a folder, images or not.
  Names files_in(const std::string& folder) const {
    Names files;
    for (std::size_t i = 0; i < contents_.images.size() && files.size() < kMostFiles; ++i)
      if (contents_.images.directory_of(i) == folder) files.push_back(contents_.images.path_of(i));
    for (const SourceContents::Other& other : contents_.others)
      if (files.size() < kMostFiles && naming::directory_of(other.path) == folder &&
          other.rule == naming::kNotAnImage)
        files.push_back(other.path);
    return files;
  }

  /// What follows an image's stem in the name of its file: "_mask.png" for 1.jpg and 1_mask.png;
  /// empty where the names have nothing in common.
  std::string ending_of(const Names& files, const std::string& folder) const {
    std::set<std::string> stems;
    for (std::size_t i = 0; i < contents_.images.size() && stems.size() < kMostFiles; ++i) {
      if (contents_.images.directory_of(i) == folder) continue;
      const std::string name(naming::last_name(contents_.images.path_of(i)));
      stems.insert(name.substr(0, name.rfind('.')));
    }
    for (const std::string& file : files) {
      const std::string name(naming::last_name(file));
      for (std::size_t length = name.size() - 1; length > 0; --length)
        if (stems.contains(name.substr(0, length))) return printable(name.substr(length));
    }
    return {};
  }

  const Layout& layout_;
  const SourceContents& contents_;
  const ListOptions& options_;
  const fs::path& source_;
  const FieldSet fields_;
  const Tree tree_;
  bool flat_ = false;
  std::vector<Result> results_, unlabelled_;
  Names told_;
};

}  // namespace

std::string advice_for(const Layout& layout, const SourceContents& contents,
                       const ListOptions& options, const fs::path& source) {
  return Readings(layout, contents, options, source).in_words();
}

}  // namespace packhorse

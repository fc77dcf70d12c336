#include "sources/layout/annotations_beside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_set>

#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/text.h"
#include "labels/label_rows.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using naming::join;

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kMostLookedInto = 64;  // that are looked into
constexpr std::size_t kMostExtensions = 16;
constexpr std::size_t kMostNamesRead = 256;  // of images, in one of them
constexpr std::size_t kMostRows = 64;        // of a table
constexpr std::size_t kMostTables = 4;       // that are told

/// What the beginning of a notation's files has: all of the words.
struct Marks {
  const char* notation;
  std::array<std::string_view, 3> words;
};
constexpr std::array kMarks = {
    Marks{kCoco, {"\"images\"", "\"annotations\""}},
    Marks{kCoco, {"\"images\"", "\"file_name\""}},
    Marks{"VIA", {"\"_via_"}},
    Marks{"VIA", {"\"filename\"", "\"regions\""}},
    Marks{"Label Studio", {"\"annotations\"", "\"result\"", "\"data\""}},
    Marks{"FiftyOne", {"\"classes\"", "\"labels\""}},
    Marks{"FiftyOne", {"\"samples\"", "\"filepath\""}},
    Marks{"CVAT", {"<annotations", "<image "}},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Neither Markdown nor HTML do, which name images, too.
bool begins_json_or_xml(std::string_view text) {
  if (text.starts_with('{') || text.starts_with("<?xml") || text.starts_with("<annotation"))
    return true;
  if (!text.starts_with('[')) return false;
  const std::size_t next = text.find_first_not_of(" \t\r\n", 1);
  return next != std::string_view::npos && has("{[\"0123456789-", text.substr(next, 1));
}

/// The notation of a text; "" for another one. Nothing where it is neither JSON nor XML.
std::optional<std::string> notation_of(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || !begins_json_or_xml(head.substr(first)))
    return std::nullopt;
  for (const Marks& marks : kMarks)
    if (std::ranges::all_of(marks.words, [&](std::string_view word) { return has(head, word); }))
      return marks.notation;
  return "";
}

std::string_view file_of_path(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

std::string_view without_ending(std::string_view name) { return name.substr(0, name.rfind('.')); }

/// The names of images that JSON or XML has, without their folders.
std::set<std::string> image_names_in(std::string_view text) {
  std::set<std::string> names;
  while (!text.empty() && names.size() < kMostNamesRead) {
    const std::size_t end = std::min(text.find_first_of("\"'<>\n"), text.size());
    const std::string_view name = file_of_path(text.substr(0, end));
    if (naming::has_any_image_name(name)) names.emplace(name);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

/// What may be names of images, with or without extension, in the column of paths of a table; none
/// where it is no table.
std::vector<std::string> names_in_table(const std::filesystem::path& file) {
  std::vector<std::string> names;
  try {
    LabelRows rows(file, {});
    LabelRow row;
    while (names.size() < kMostRows && rows.next(row)) {
      if (rows.numbered()) return {};
      names.emplace_back(file_of_path(row.path));
    }
  } catch (const Error&) {  // it is no such table
    return {};
  }
  return names;
}

/// How many folders two paths have in common, wherever these lie.
std::size_t common_folders(std::string_view one, std::string_view other) {
  const std::vector<std::string> folders = naming::folders_of(one);
  const std::vector<std::string> others = naming::folders_of(other);
  return static_cast<std::size_t>(std::ranges::count_if(others, [&](const std::string& folder) {
    return std::ranges::find(folders, folder) != folders.end();
  }));
}

class Look {
 public:
  Look(const Layout& layout, const SourceContents& contents)
      : layout_(layout), contents_(contents) {}

  AnnotationsBeside run() {
    find_texts();
    if (!contents_.disk.empty() && !named_.empty()) find_files();
    return std::move(found_);
  }

 private:
  bool is_read(const std::string& path) const {
    return std::ranges::any_of(layout_.roots, [&](const Layout::Root& root) {
      return !root.metadata.empty() && path == join(root.folder, root.metadata);
    });
  }

  std::string class_folder_of(const std::string& image) const {
    std::string_view below;
    const Layout::Root* const root = layout_.root_of(image, below);
    if (root == nullptr) return {};
    std::string folder = root->folder;
    std::string_view rest = naming::directory_of(below), first;
    for (int depth = 0; depth < root->class_depth && !rest.empty(); ++depth) {
      std::tie(first, rest) = naming::cut_first(rest);
      folder = join(folder, first);
    }
    return folder;
  }

  /// A file with what it is called but for its folders, as a hash.
  struct Named {
    std::uint64_t hash = 0;
    const std::string* path = nullptr;
    bool of_image = false;  ///< of the first of several that are called so: an image is, too
  };

  static std::uint64_t hash_of(std::string_view stem, std::string_view extension) {
    return xxh3(as_bytes(std::string(stem) + '.' + std::string(extension)));
  }

  std::span<Named> called(std::uint64_t hash) {
    const auto first = std::ranges::lower_bound(named_, hash, {}, &Named::hash);
    return {first, std::ranges::upper_bound(named_, hash, {}, &Named::hash)};
  }

  /// The images in each class folder.
  std::map<std::string, std::uint64_t> count_images() const {
    std::map<std::string, std::uint64_t> images;
    std::uint64_t* here = nullptr;
    std::string_view directory;
    for (std::size_t i = 0; i < contents_.images.size(); ++i) {
      if (here == nullptr || contents_.images.directory_of(i) != directory) {
        directory = contents_.images.directory_of(i);
        here = &images[class_folder_of(join(directory, "x"))];
      }
      ++*here;
    }
    return images;
  }

  /// Fills named_; the most frequent extensions of those that half of `least` images may have.
  std::vector<std::string> name_others(std::uint64_t least) {
    std::map<std::string, std::uint64_t> count;
    for (const SourceContents::Other& other : contents_.others) {
      if (other.rule != naming::kNotAnImage || is_read(other.path)) continue;
      const std::string_view name = naming::last_name(other.path);
      const std::size_t dot = name.rfind('.');
      const std::string extension =
          dot == std::string_view::npos ? "" : lower_case(name.substr(dot + 1));
      named_.push_back({hash_of(name.substr(0, dot), extension), &other.path});
      if (!extension.empty()) ++count[extension];
    }
    std::ranges::stable_sort(named_, {}, &Named::hash);
    std::vector<std::string> extensions;
    for (const auto& [extension, n] : count)
      if (2 * n >= least) extensions.push_back(extension);
    std::ranges::stable_sort(extensions, std::greater(),
                             [&](const std::string& one) { return count[one]; });
    if (extensions.size() > kMostExtensions) extensions.resize(kMostExtensions);
    return extensions;
  }

  /// Of the texts that are called as an image, the one in the nearest folder.
  std::string nearest(const std::string& image, const std::string& extension) {
    const std::string_view name = naming::last_name(image);
    const std::string* best = nullptr;
    for (const std::string_view stem : {without_ending(name), name})
      for (const Named& one : called(hash_of(stem, extension)))
        if (best == nullptr || common_folders(image, *one.path) > common_folders(image, *best))
          best = one.path;
    return *best;
  }

  void find_texts() {
    std::map<std::string, std::uint64_t> images = count_images();
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& [folder, count] : images) least = std::min(least, count);
    const std::vector<std::string> extensions = name_others(least);
    if (extensions.empty()) return;
    struct Some {
      std::uint64_t count = 0;
      std::string image;  ///< the first that has such a text
    };
    std::map<std::pair<std::string, std::string>, Some> some;  // by extension and class folder
    std::string folder, directory;
    for (std::size_t i = 0; i < contents_.images.size(); ++i) {
      const std::string image = contents_.images.path_of(i);
      if (i == 0 || naming::directory_of(image) != directory) {
        directory = naming::directory_of(image);
        folder = class_folder_of(image);
      }
      const std::string_view name = naming::last_name(image);
      for (const std::string& extension : extensions) {
        bool any = false;
        for (const std::string_view stem : {without_ending(name), name}) {
          const std::span<Named> texts = called(hash_of(stem, extension));
          if (!texts.empty()) any = texts.front().of_image = true;
        }
        if (!any) continue;
        Some& one = some[{extension, folder}];
        if (++one.count == 1) one.image = image;
      }
    }
    for (const auto& [key, one] : some) {
      const auto& [extension, in] = key;
      const bool told = !found_.texts.empty() && found_.texts.back().extension == extension;
      if (told || 2 * one.count < images[in]) continue;
      const std::string text = nearest(one.image, extension);
      if (!contents_.disk.empty() && text_head(contents_.disk / text, kHeadBytes).empty()) continue;
      found_.texts.push_back({extension, one.image, text});
    }
  }

  /// The files that are not called as an image, those nearest to the root first.
  std::vector<const std::string*> other_files() {
    std::vector<const std::string*> files;
    for (const Named& one : named_)
      if (!called(one.hash).front().of_image) files.push_back(one.path);
    std::ranges::sort(files, {}, [](const std::string* path) {
      return std::pair(std::ranges::count(*path, '/'), *path);
    });
    if (files.size() > kMostLookedInto) files.resize(kMostLookedInto);
    return files;
  }

  void find_files() {
    const std::vector<const std::string*> files = other_files();
    std::map<std::string, std::vector<std::string>> named, tables;  // names of images in each
    std::unordered_set<std::string> wanted;
    for (const std::string* path : files) {
      const std::string head = text_head(contents_.disk / *path, kHeadBytes);
      const auto notation = notation_of(head);
      if (notation && !notation->empty()) {
        found_.files.push_back({*path, *notation});
      } else if (notation) {
        for (const std::string& name : image_names_in(head)) named[*path].push_back(name);
        wanted.insert(named[*path].begin(), named[*path].end());
      } else if (has(head, "\n")) {
        tables[*path] = names_in_table(contents_.disk / *path);
        wanted.insert(tables[*path].begin(), tables[*path].end());
      }
    }
    const std::unordered_set<std::string> there = images_called(wanted);
    const auto known = [&](const std::vector<std::string>& names) {
      return std::ranges::count_if(names, [&](const auto& name) { return there.contains(name); });
    };
    for (const std::string* path : files) {
      const auto names = static_cast<std::ptrdiff_t>(tables[*path].size());
      if (known(named[*path]) > 0) found_.files.push_back({*path, ""});
      // Hugging Face reads this table by its name, whatever folders there are.
      if (2 * known(tables[*path]) < names || names == 0) continue;
      if (naming::last_name(*path) == "metadata.csv")
        found_.files.push_back({*path, ""});
      else
        found_.tables.push_back(*path);
    }
  }

  /// Which of the names are those of images, with or without extension.
  std::unordered_set<std::string> images_called(
      const std::unordered_set<std::string>& wanted) const {
    std::unordered_set<std::string> there;
    for (std::size_t i = 0; i < contents_.images.size() && !wanted.empty(); ++i) {
      const std::string path = contents_.images.path_of(i);
      const std::string name(naming::last_name(path));
      for (const std::string& one : {name, std::string(without_ending(name))})
        if (wanted.contains(one)) there.insert(one);
    }
    return there;
  }

  const Layout& layout_;
  const SourceContents& contents_;
  std::vector<Named> named_;  ///< by hash
  AnnotationsBeside found_;
};

std::string doubt_of(const AnnotationsBeside& found) {
  if (!found.files.empty()) {
    const AnnotationsBeside::File& file = found.files.front();
    return fmt::format("{} {}, and would not be read where the folders are the classes",
                       naming::shown(file.path),
                       file.notation.empty() ? "says something of the images by their names"
                                             : "holds annotations of " + file.notation);
  }
  if (found.texts.empty()) return {};
  const AnnotationsBeside::Texts& texts = found.texts.front();
  return fmt::format(
      "images have texts of their own, such as {} for {}, which would not be read where the "
      "folders are the classes",
      naming::shown(texts.text), naming::shown(texts.image));
}

}  // namespace

AnnotationsBeside annotations_beside(const Layout& layout, const SourceContents& contents) {
  return Look(layout, contents).run();
}

bool leaves_open(const ListOptions& options) {
  const FieldChoice& fields = options.fields;
  return options.classes_at == 0 && options.labels.empty() && options.classes.empty() &&
         options.targets.empty() && fields.places.empty() && !fields.names;
}

void doubt_unread_annotations(Layout& layout, const SourceContents& contents,
                              const ListOptions& options) {
  if (!leaves_open(options) || !layout.some_by_folders() || !contents.datasets.empty()) return;
  const AnnotationsBeside found = annotations_beside(layout, contents);
  if (std::string what = doubt_of(found); !what.empty()) {
    std::vector<Doubt>& doubts = layout.doubts;
    if (doubts.empty())
      doubts.emplace_back();
    else
      what += "; " + doubts.front().what;
    doubts.front() = {Doubt::Kind::kLayout, std::move(what), {}};
  }
  for (std::size_t i = 0; i < std::min(found.tables.size(), kMostTables); ++i)
    layout.notes.push_back(fmt::format(
        "{} is not read: the class folders give the labels; {} would read it",
        naming::shown(found.tables[i]), opt("labels", (contents.disk / found.tables[i]).native())));
}

std::string text_head(const std::filesystem::path& file, std::size_t most) {
  const UniqueFd fd = open_file(file, O_RDONLY | O_NONBLOCK);
  std::string head(fd ? most : 0, '\0');
  const ssize_t n = head.empty() ? 0 : ::read(fd.get(), head.data(), head.size());
  head.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const bool wide = head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff");
  return has(head, std::string_view("\0", 1)) && !wide ? std::string() : head;
}

}  // namespace packhorse

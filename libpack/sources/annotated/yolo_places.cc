#include "sources/annotated/yolo_places.h"

#include <glob.h>

#include <algorithm>
#include <memory>

#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "dataset/url.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostGlobbed = 10'000;

bool has_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

/// The text as a pattern that matches just itself.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// What is there that matches a glob, as paths in `source`, sorted.
std::vector<std::string> globbed(const fs::path& source, const std::string& pattern) {
  glob_t found = {};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> close(&found, ::globfree);
  const std::string prefix = (source / "").native();
  if (::glob((escaped(prefix) + pattern).c_str(), 0, nullptr, &found) != 0) return {};
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < found.gl_pathc && i < kMostGlobbed + 1; ++i)
    paths.emplace_back(found.gl_pathv[i] + prefix.size());
  return paths;
}

class PlaceFinder {
 public:
  PlaceFinder(const DataYaml& data, const fs::path& file, const fs::path& source,
              std::vector<std::string>& notes)
      : file_(file), source_(fs::absolute(source)), notes_(notes) {
    // A path that leads elsewhere is that of another machine: the source counts instead.
    const auto inside = path_inside(source_, source_, data.path);
    if (!data.path.empty() && inside && is_folder(source_ / *inside))
      base_ = *inside;
    else if (!data.path.empty() && fs::path(data.path).filename() != source_.filename())
      notes_.push_back("its path, '" + printable(data.path) +
                       "', is not in the source: the places it names are looked for in the source "
                       "itself");
  }

  YoloPlaces places_of(const DataYaml::Split& split) {
    YoloPlaces places{split.name};
    for (const std::string& text : split.places) add(split.name, text, places);
    std::ranges::sort(places.folders);
    // A folder inside another one is walked with it.
    std::vector<std::string> outer;
    for (const std::string& folder : places.folders) {
      const bool within = std::ranges::any_of(
          outer, [&](const std::string& one) { return naming::lies_in(folder, one); });
      if (!within) outer.push_back(folder);
    }
    places.folders = std::move(outer);
    return places;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const {
    throw Error(ErrorKind::kUsage, what, file_, advice);
  }

  void add(const std::string& split, const std::string& text, YoloPlaces& places) {
    const std::string path = inside(split, text);
    std::vector<std::string> found = {path};
    if (has_glob(path)) {
      found = globbed(source_, path);
      if (found.empty())
        refuse("nothing matches '" + printable(text) + "', which should be the split " + split,
               "correct it, or give the folder that its paths are relative to as the source");
      if (found.size() > kMostGlobbed)
        refuse("more than 10,000 files match '" + printable(text) + "'",
               "name their folder instead");
    }
    for (const std::string& one : found) add_one(split, text, one, has_glob(path), places);
  }

  void add_one(const std::string& split, const std::string& text, const std::string& path,
               bool by_glob, YoloPlaces& places) const {
    const fs::path full = source_ / path;
    if (is_folder(full)) {
      places.folders.push_back(path);
    } else if (is_file(full) && lower_case(path).ends_with(".txt")) {
      places.lists.push_back(path);
    } else if (by_glob && is_file(full)) {
      refuse("'" + printable(text) + "' matches files, such as " + printable(path),
             "let it match folders or .txt lists of images");
    } else {
      refuse("the split " + split + " is '" + printable(text) + "', but there is no " +
                 printable(full.native()),
             "correct it, or give the folder that its paths are relative to as the source: " +
                 call({"pack", {"FOLDER", "OUT"}, {{"targets", "yolo:" + file_.native()}}}));
    }
  }

  /// The text with slashes, where it has backslashes and names nothing as it is.
  std::string with_slashes(const std::string& text) {
    if (text.find('\\') == std::string::npos || path_exists(source_ / base_ / text)) return text;
    std::string slashes = text;
    std::ranges::replace(slashes, '\\', '/');
    notes_.push_back("the backslashes of '" + text + "' are taken for slashes");
    return slashes;
  }

  /// The place in the source that a text means.
  std::string inside(const std::string& split, const std::string& written) {
    if (written.find("://") != std::string::npos)
      refuse("the split " + split + " is '" + harmless_url(written) + "', a URL",
             "copy the images to a disk");
    const std::string text = with_slashes(written);
    if (const auto path = path_inside(source_, source_ / base_, text)) return *path;
    // Some exports have one ".." too many: "../train/images" beside train/.
    std::string shorter = text;
    while (shorter.starts_with("../")) shorter.erase(0, 3);
    const auto path = path_inside(source_, source_ / base_, shorter);
    if (!fs::path(text).is_absolute() && path && path_exists(source_ / *path)) {
      notes_.push_back("'" + printable(text) + "' leads out of the source; '" + printable(*path) +
                       "' is taken for it");
      return *path;
    }
    if (text == "../" + shorter && path)
      refuse("the split " + split + " is '" + printable(text) +
                 "', and there is neither that nor '" + printable(*path) + "' in the source, " +
                 printable(source_.native()),
             "put the images there, or correct it");
    refuse("the split " + split + " is '" + printable(text) + "', which is not in the source, " +
               printable(source_.native()),
           "give the folder that holds all of it as the source: packhorse pack FOLDER OUT "
           "`targets=` yolo:" +
               printable(file_.native()));
  }

  const fs::path& file_;
  const fs::path source_;
  std::vector<std::string>& notes_;
  std::string base_;
};

}  // namespace

std::optional<std::string> path_inside(const fs::path& source, const fs::path& folder,
                                       const std::string& text) {
  const fs::path full = (folder / text).lexically_normal();
  std::string path = full.lexically_relative(source.lexically_normal()).native();
  while (path.ends_with('/')) path.pop_back();
  if (path.empty() || path == ".." || path.starts_with("../")) return std::nullopt;
  return path == "." ? "" : path;
}

std::vector<YoloPlaces> find_yolo_places(const DataYaml& data, const fs::path& file,
                                         const fs::path& source, std::vector<std::string>& notes) {
  PlaceFinder finder(data, file, source, notes);
  std::vector<YoloPlaces> all;
  for (const DataYaml::Split& split : data.splits) all.push_back(finder.places_of(split));
  return all;
}

}  // namespace packhorse

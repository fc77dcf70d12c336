#include "listing/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "codecs/image_header.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse::naming {

namespace {

// The names torchvision.datasets.ImageFolder takes, and further ones of the same kinds.
constexpr std::array<std::string_view, 19> kImageNames = {
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png",  ".webp", ".bmp",  ".tif", ".tiff", ".ppm",
    ".pgm", ".pnm",  ".pbm", ".gif",  ".avif", ".heic", ".heif", ".hif", ".jxl"};

// In lower case. They come from macOS archivers; Windows; NAS of Synology and QNAP; ext4; programs
// that unpack tar's extended headers as files; Python.
constexpr std::array<std::string_view, 15> kJunkNames = {"__macosx",
                                                         "icon\r",
                                                         "thumbs.db",
                                                         "ehthumbs.db",
                                                         "desktop.ini",
                                                         "$recycle.bin",
                                                         "system volume information",
                                                         "@eadir",
                                                         "#recycle",
                                                         "#snapshot",
                                                         "@recycle",
                                                         "@recently-snapshot",
                                                         "lost+found",
                                                         "paxheader",
                                                         "__pycache__"};
constexpr std::string_view kPaxHeaders = "paxheaders.";  // and a process's number

}  // namespace

bool is_outside_rule(std::string_view rule) {
  return rule == kHidden || rule == kJunk || rule == kLoop || rule == kExcluded;
}

bool has_image_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string extension = lower_case(name.substr(dot));
  return std::ranges::find(kImageNames, extension) != kImageNames.end();
}

bool has_any_image_name(std::string_view name) {
  return has_image_name(name) || !unsupported_kind_by_name(name).empty();
}

bool has_npy_name(std::string_view name) {
  return lower_case(name).ends_with(extension_of(ImageKind::kNpy));
}

bool has_image_bytes(Bytes head) {
  const ImageKind kind = sniff_image(head);
  return (kind != ImageKind::kUnknown && kind != ImageKind::kNpy) ||
         !unsupported_kind(head).empty();
}

const char* passed_over(std::string_view name) {
  if (is_hidden(name)) return kHidden;
  const std::string lower = lower_case(name);
  const bool junk = std::ranges::find(kJunkNames, lower) != kJunkNames.end();
  return junk || lower.starts_with(kPaxHeaders) ? kJunk : nullptr;
}

std::string_view passed_over_in(std::string_view path) {
  for (std::size_t begin = 0, end = 0; end < path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    if (passed_over(path.substr(begin, end - begin)) != nullptr) return path.substr(0, end);
  }
  return {};
}

std::string join(std::string_view directory, std::string_view name) {
  return directory.empty() ? std::string(name) : std::string(directory) + '/' + std::string(name);
}

std::pair<std::string_view, std::string_view> directory_and_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string_view directory_of(std::string_view path) { return directory_and_name(path).first; }

std::string_view last_name(std::string_view path) { return directory_and_name(path).second; }

std::pair<std::string_view, std::string_view> cut_first(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::vector<std::string> folders_of(std::string_view path) {
  std::vector<std::string> folders;
  for (std::string_view rest = directory_of(path), first; !rest.empty();) {
    std::tie(first, rest) = cut_first(rest);
    folders.emplace_back(first);
  }
  return folders;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return folder.empty() || path == folder ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

std::string shown(std::string_view name) { return "'" + printable(name) + "'"; }

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  const std::string text = printable(word);
  const bool escaped = text != word;
  std::string quoted = escaped ? "$'" : "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += escaped ? "\\'" : "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + shown(names[i]);
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::vector<std::string> class_names(const std::vector<std::string>& pinned,
                                     const std::set<std::string>& found,
                                     const std::filesystem::path& source) {
  if (pinned.empty()) return {found.begin(), found.end()};
  for (const std::string& name : found) {
    if (std::ranges::find(pinned, name) == pinned.end()) {
      throw Error(ErrorKind::kUsage, "the class list does not name the class folder '" + name + "'",
                  source, "add it to the list, or move the folder out of the source");
    }
  }
  return pinned;
}

std::optional<std::string> clean_path(std::string_view name) {
  if (name.starts_with('/') || name.find('\0') != std::string_view::npos) return std::nullopt;
  std::string path;
  path.reserve(name.size());
  while (!name.empty()) {
    const auto [first, rest] = cut_first(name);
    name = rest;
    if (first == "..") return std::nullopt;
    if (first.empty() || first == ".") continue;
    if (!path.empty()) path += '/';
    path += first;
  }
  if (path.empty()) return std::nullopt;
  return path;
}

bool is_too_deep(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::count(path, '/')) > kMostFolders;
}

bool is_split_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.front() != '.' && name.size() <= 64 && name != kManifestName &&
         name != "README.md" && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

void sort_splits(std::vector<std::string>& names) {
  const auto rank = [](const std::string& name) {
    constexpr std::array<std::string_view, 5> kOrder = {"train", "val", "valid", "validation",
                                                        "test"};
    return std::find(kOrder.begin(), kOrder.end(), name) - kOrder.begin();
  };
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  });
}

std::unordered_map<std::string, std::int64_t> labels_of(const std::vector<std::string>& classes) {
  std::unordered_map<std::string, std::int64_t> labels;
  for (const std::string& name : classes) {
    labels.emplace(name, static_cast<std::int64_t>(labels.size()));
  }
  return labels;
}

bool is_empty(const Listing& listing) {
  return std::ranges::all_of(listing.splits, [](const SplitListing& split) {
    return split.entries.size() == 0 && split.rejects.empty();
  });
}

void refuse_empty(const Listing& listing, const std::filesystem::path& source,
                  const std::string& advice) {
  if (is_empty(listing))
    throw Error(ErrorKind::kNotFound, "the source holds no images", source, advice);
}

}  // namespace packhorse::naming

namespace packhorse {

bool matches_any(const std::vector<std::string>& globs, const std::string& path) {
  const std::string name(naming::last_name(path));
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    const bool whole = glob.find('/') != std::string::npos;
    return ::fnmatch(glob.c_str(), whole ? path.c_str() : name.c_str(), 0) == 0;
  });
}

std::string as_glob(std::string_view text) {
  std::string glob;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) glob += '\\';
    glob += c;
  }
  return glob;
}

}  // namespace packhorse

#include "sources/layout/lookalikes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <unordered_set>

#include "base/ascii.h"
#include "listing/names.h"
#include "packhorse/base/hash.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostDigits = 4;      // of a part's number
constexpr std::size_t kMostRenderings = 4;  // more folders may each number their images from 1
constexpr double kSameRatio = 1.05;         // of proportions, which sizes are rounded to
constexpr std::size_t kMostLooks = 8;       // pairs of images that are looked at
constexpr std::size_t kMostSeparators = 3;  // in a companion's suffix

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// The name with # for its last number; nothing when the number is no part's.
std::optional<std::string> without_number(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (begin == end || end - begin > kMostDigits) return std::nullopt;
  std::string rest = name.substr(0, begin) + '#' + name.substr(end);
  if (std::none_of(rest.begin(), rest.end(), is_letter)) return std::nullopt;
  for (const char* says_so : {"class", "label", "category"})
    if (lower_case(rest).starts_with(says_so)) return std::nullopt;
  return rest;
}

std::string_view stem_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

/// Whether two images have the same proportions, be it turned by a quarter; true where that cannot
/// be seen.
bool same_proportions(const SourceContents& contents, std::size_t one, std::size_t other) {
  if (!contents.look) return true;
  const auto ratio = [&](std::size_t image) {
    const ProbeResult found = probe_image(contents.look(contents.images[image]));
    const double width = found.info ? found.info->width : 0;
    const double height = found.info ? found.info->height : 0;
    return width > 0 && height > 0 ? std::max(width, height) / std::min(width, height) : 0;
  };
  const double a = ratio(one), b = ratio(other);
  return a == 0 || b == 0 || (a < b * kSameRatio && b < a * kSameRatio);
}

/// Calls visit(directory, first, last) for each run of images in one directory; a directory with
/// folders among its images comes in several runs.
template <class Visit>
void by_directory(const EntryTable& images, const Visit& visit) {
  for (std::size_t first = 0, last = 0; first < images.size(); first = last) {
    const std::string_view directory = images.directory_of(first);
    for (last = first + 1; last < images.size() && images.directory_of(last) == directory;) ++last;
    visit(directory, first, last);
  }
}

/// The stem of the image that a file of that name would belong to, and the rest of its name, for
/// each place where its stem could end: before a separator with a letter behind it.
std::vector<std::pair<std::string_view, std::string_view>> owners_of(std::string_view name) {
  const std::string_view stem = stem_of(name);
  std::vector<std::pair<std::string_view, std::string_view>> owners;
  for (std::size_t at = stem.size(); owners.size() < kMostSeparators && at-- > 1;) {
    const bool separator = std::string_view("_-. ").find(stem[at]) != std::string_view::npos;
    if (separator && at + 1 < stem.size() && is_letter(stem[at + 1]))
      owners.emplace_back(stem.substr(0, at), name.substr(at));
  }
  return owners;
}

/// Counts, in a class folder, the images that others belong to, by what follows their stems.
class FolderCompanions {
 public:
  FolderCompanions(const EntryTable& images, std::size_t first, std::size_t last) {
    std::map<std::string, std::uint64_t> extensions;
    bool some = false;
    for (std::size_t i = first; i < last; ++i) {
      names_.push_back(std::string(naming::last_name(images.path_of(i))));
      some = some || !owners_of(names_.back()).empty();
      ++extensions[extension_of(names_.back())];
    }
    if (!some && extensions.size() < 2) return;
    const std::string usual =
        std::max_element(extensions.begin(), extensions.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    std::unordered_map<std::string_view, std::size_t> stems;  // and the first image with it
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (extension_of(names_[i]) == usual) stems.emplace(stem_of(names_[i]), i);
    for (std::size_t i = 0; i < names_.size(); ++i) stems.emplace(stem_of(names_[i]), i);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      if (const std::size_t image = stems.at(stem_of(name)); image != i) {
        add(first + image, first + i, name.substr(stem_of(name).size()));
        continue;
      }
      for (const auto& [owner, suffix] : owners_of(name))
        if (const auto image = stems.find(owner); image != stems.end())
          add(first + image->second, first + i, suffix);
    }
  }

  std::size_t files() const { return names_.size(); }
  struct Found {
    std::size_t image = 0, file = 0;  ///< the first, by their entries
    std::uint64_t count = 0;
  };
  const std::map<std::string, Found>& found() const { return found_; }

 private:
  static std::string extension_of(std::string_view name) {
    return lower_case(name.substr(stem_of(name).size()));
  }
  void add(std::size_t image, std::size_t file, std::string_view suffix) {
    Found& one = found_[std::string(suffix)];
    if (one.count++ == 0) one.image = image, one.file = file;
  }

  std::vector<std::string> names_;
  std::map<std::string, Found> found_;  ///< by suffix
};

/// Calls visit(class folder, first, last) for each run of images in a class folder of `root`.
template <class Visit>
void by_class(const SourceContents& contents, const Layout::Root& root, const Visit& visit) {
  const std::size_t skipped = root.folder.empty() ? 0 : root.folder.size() + 1;
  by_directory(contents.images,
               [&](std::string_view directory, std::size_t first, std::size_t last) {
                 if (skipped > 0 && !(directory.starts_with(root.folder) &&
                                      directory.size() > skipped && directory[skipped - 1] == '/'))
                   return;
                 if (directory.size() < skipped) return;
                 const std::string below = naming::join(directory.substr(skipped), "x");
                 const std::string_view name = root.class_of(below);
                 if (!name.empty()) visit(name, first, last);
               });
}

/// Whether the names of a class folder's images are just numbers without a gap, which say nothing
/// of what they show.
bool are_numbered(const SourceContents& contents, const Layout::Root& root,
                  std::string_view folder) {
  std::string around;
  bool numbers = true;
  std::uint64_t count = 0, least = ~std::uint64_t{0}, most = 0;
  by_class(contents, root, [&](std::string_view name, std::size_t first, std::size_t last) {
    if (name != folder) return;
    for (std::size_t i = first; i < last && numbers; ++i) {
      const std::string path = contents.images.path_of(i);
      const std::string_view stem = stem_of(naming::last_name(path));
      std::size_t end = stem.size();
      while (end > 0 && !is_digit(stem[end - 1])) --end;
      std::size_t begin = end;
      while (begin > 0 && is_digit(stem[begin - 1])) --begin;
      std::uint64_t number = 0;
      numbers = std::from_chars(stem.data() + begin, stem.data() + end, number).ec == std::errc();
      const std::string rest =
          std::string(stem.substr(0, begin)) + '#' + std::string(stem.substr(end));
      numbers = numbers && (count++ == 0 || rest == around);
      around = rest;
      least = std::min(least, number);
      most = std::max(most, number);
    }
  });
  return numbers && count > 0 && most - least == count - 1;
}

}  // namespace

std::vector<std::string> numbered_parts(const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string& name : names)
    if (auto rest = without_number(name)) groups[*rest].push_back(name);
  for (auto& [rest, group] : groups)
    if (group.size() > 1) return std::move(group);
  return {};
}

std::vector<std::string> renderings(const SourceContents& contents, const Layout::Root& root) {
  struct Names {
    std::uint64_t sum = 0, count = 0;
    auto operator<=>(const Names&) const = default;
  };
  std::map<std::string, std::pair<Names, std::vector<std::size_t>>, std::less<>> classes;
  by_class(contents, root, [&](std::string_view name, std::size_t first, std::size_t last) {
    auto& [names, examples] = classes[std::string(name)];
    for (std::size_t i = first; i < last; ++i) {
      const std::string image = contents.images.path_of(i);
      names.sum += xxh3(as_bytes(stem_of(naming::last_name(image))));
      ++names.count;
      if (examples.size() < kMostLooks) examples.push_back(i);
    }
  });
  std::map<Names, std::vector<std::string>> groups;
  for (const auto& [name, one] : classes)
    if (one.first.count > 1) groups[one.first].push_back(name);
  for (auto& [names, group] : groups) {
    if (group.size() < 2) continue;
    if (classes.size() > kMostRenderings && are_numbered(contents, root, group.front())) continue;
    const auto& ones = classes.at(group[0]).second;
    const auto& others = classes.at(group[1]).second;
    bool same = true;  // the names are, and sorted
    for (std::size_t i = 0; i < std::min(ones.size(), others.size()); ++i)
      same = same && same_proportions(contents, ones[i], others[i]);
    if (same) return std::move(group);
  }
  return {};
}

std::optional<Companions> companions_in(const SourceContents& contents, const Layout& layout) {
  struct Found {
    Companions companions;
    bool many = false;  ///< of half of the images of a folder
  };
  std::map<std::string, Found> all;  // by suffix
  by_directory(contents.images, [&](std::string_view directory, std::size_t first,
                                    std::size_t last) {
    std::string_view below;
    const std::string path = naming::join(directory, "x");
    const Layout::Root* root = layout.root_of(path, below);
    if (root == nullptr || root->given || root->class_of(below).empty()) return;
    const FolderCompanions here(contents.images, first, last);
    for (const auto& [suffix, found] : here.found()) {
      if (suffix.starts_with('.') && std::count(suffix.begin(), suffix.end(), '.') == 1 &&
          !same_proportions(contents, found.image, found.file))
        continue;
      Found& one = all[suffix];
      if (one.companions.count == 0) {
        const auto name = [&](std::size_t i) {
          return std::string(naming::last_name(contents.images.path_of(i)));
        };
        one.companions = {std::string(directory), name(found.image), name(found.file), suffix, 0};
      }
      one.companions.count += found.count;
      one.many = one.many || 2 * found.count >= here.files() - found.count;
    }
  });
  const Companions* most = nullptr;
  for (const auto& [suffix, one] : all) {
    if (one.companions.count < 2 && !one.many) continue;
    if (most == nullptr || one.companions.count > most->count) most = &one.companions;
  }
  return most == nullptr ? std::nullopt : std::optional(*most);
}

}  // namespace packhorse

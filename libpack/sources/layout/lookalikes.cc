#include "sources/layout/lookalikes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "codecs/colour_rows.h"
#include "codecs/image_header.h"
#include "codecs/perceptual_hash.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/layout/folder_roles.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostDigits = 4;      // of a part's number
constexpr std::size_t kMostRenderings = 4;  // more folders may each number their images from 1
constexpr double kSameRatio = 1.05;         // of proportions, which sizes are rounded to
constexpr std::size_t kMostLooks = 8;       // pairs of images that are looked at, of two folders
constexpr std::size_t kMostLooksAtAll = 256;
// Bits of 64 in which hashes of pictures differ (unlike_bits()): unlike ones in some 26, renderings
// of one picture in fewer.
constexpr int kUnlikeBits = 21, kMoreAlikeBits = 2;
constexpr std::size_t kHashesInCommon = 16;
constexpr std::size_t kMostSeparators = 3;  // in a companion's suffix
constexpr std::size_t kMostNames = 8192;    // of files in a folder whose words are compared
constexpr std::size_t kMostAffixes = 8;     // that an image's name may have

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool has_digit(std::string_view text) { return std::ranges::any_of(text, is_digit); }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// The name with # for each number, and what that says: whether one of the numbers may be a part's,
/// and whether it is more than one number alone.
struct Skeleton {
  std::string text;
  std::vector<std::string_view> numbers;
};

Skeleton skeleton_of(std::string_view name) {
  Skeleton skeleton;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > at) skeleton.numbers.push_back(name.substr(at, end - at));
    skeleton.text += end > at ? '#' : name[at];
    at = std::max(end, at + 1);
  }
  return skeleton;
}

/// The name with * for a single letter or a Roman number at its end; nothing for other names.
std::optional<std::string> without_letter(std::string_view name) {
  const std::size_t at = name.find_last_of("_-. ");
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) return std::nullopt;
  const std::string_view last = name.substr(at + 1);
  const bool letter = last.size() == 1 && is_letter(last[0]);
  if (!letter && last.find_first_not_of("IVX") != std::string_view::npos) return std::nullopt;
  return std::string(name.substr(0, at + 1)) + '*';
}

/// Whether names of that form are said to be classes.
bool says_class(std::string_view form) {
  const std::string lower = lower_case(form);
  return lower.starts_with("class") || lower.starts_with("label") || lower.starts_with("category");
}

/// Whether names that have the same skeleton are numbered as parts are: by a number that is no
/// identifier, beside a word or another number.
bool are_parts(const std::string& form, const std::vector<Skeleton>& names) {
  const std::vector<std::string_view>& first = names.front().numbers;
  const bool word = std::ranges::any_of(form, is_letter);
  if (names.size() < 2 || says_class(form) || (!word && first.size() < 2)) return false;
  for (std::size_t n = 0; n < first.size(); ++n) {
    bool differs = false, part = true;
    for (const Skeleton& one : names) {
      differs = differs || one.numbers[n] != first[n];
      part = part && one.numbers[n].size() <= kMostDigits;
    }
    if (differs && part) return true;
  }
  return false;
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

std::optional<PictureHashes> hashes_of(const SourceContents& contents, std::size_t i) try {
  const std::vector<std::byte> bytes = contents.look(contents.images[i]);
  const ProbeResult found = probe_image(bytes);
  if (!found.info) return std::nullopt;
  const int eighths = decode_eighths(*found.info, kThumbnailSide, kThumbnailSide);
  return picture_hashes(*open_colours(bytes, *found.info, {.eighths = eighths}), *found.info);
} catch (const Error&) {  // packing will reject it
  return std::nullopt;
}

/// The bits in which pictures differ, be one the other's negative, or show the other's edges.
int unlike_bits(const PictureHashes& one, const PictureHashes& other) {
  int least = 64;
  for (const std::uint64_t a : {one.brightness, one.steepness})
    for (const std::uint64_t b : {other.brightness, other.steepness}) {
      const int bits = std::popcount(a ^ b);
      least = std::min({least, bits, 64 - bits});
    }
  return least;
}

/// Whether pairs of images surely show unlike things: those of a pair are no more alike than
/// others, and neither are those of one folder. False where there are too few to tell.
bool are_unrelated(const SourceContents& contents,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  if (!contents.look || pairs.size() < kMostLooks) return false;
  std::vector<PictureHashes> one, other;
  for (std::size_t i = 0; i < kMostLooks; ++i) {
    const auto a = hashes_of(contents, pairs[i].first);
    const auto b = hashes_of(contents, pairs[i].second);
    if (!a || !b) return false;
    one.push_back(*a);
    other.push_back(*b);
  }
  int paired = 0, crossed = 0, mine = 0, theirs = 0;
  for (std::size_t i = 0; i < kMostLooks; ++i) {
    const std::size_t next = (i + 1) % kMostLooks;
    paired += unlike_bits(one[i], other[i]);
    crossed += unlike_bits(one[i], other[next]);
    mine += unlike_bits(one[i], one[next]);
    theirs += unlike_bits(other[i], other[next]);
  }
  const int looks = static_cast<int>(kMostLooks);
  return std::min({paired, crossed, mine, theirs}) >= kUnlikeBits * looks &&
         paired + kMoreAlikeBits * looks >= crossed;
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

/// A way to read a file's name: what it has in common with the names of the files that it belongs
/// to, and the word that it alone has.
struct Affix {
  std::string_view key;     ///< "1" of "1_mask.png", of "mask_1.png" and of "1.jpg"
  std::string_view before;  ///< "mask_", or ""
  std::string_view after;   ///< "_mask.png"; of "1.jpg": ".jpg"
  std::string text;         ///< the word in lower case, "" for "1.jpg"
  bool bare() const { return text.empty(); }
};

/// All ways to read a file's name.
std::vector<Affix> affixes_of(std::string_view name) {
  constexpr std::string_view kSeparators = "_-. (";
  const std::string_view stem = stem_of(name);
  std::vector<Affix> words = {{stem, {}, name.substr(stem.size()), {}}};
  const auto add = [&](std::string_view key, std::string_view before, std::size_t from,
                       std::string_view word) {
    const std::size_t letter = word.find_first_not_of("_-. (");
    if (letter == std::string_view::npos || !is_letter(word[letter])) return;
    words.push_back({key, before, name.substr(from), lower_case(word)});
  };
  for (std::size_t at = stem.size(); words.size() <= kMostSeparators && at-- > 1;) {
    const bool separator = kSeparators.find(stem[at]) != std::string_view::npos;
    // "1GT" has none. A letter alone is a second picture: "1b".
    const bool number_ends = is_digit(stem[at - 1]) && is_letter(stem[at]) && stem.size() - at > 1;
    if (separator || number_ends) add(stem.substr(0, at), {}, at, stem.substr(at));
  }
  const std::size_t first = stem.find_first_of("_-. ");
  if (first != std::string_view::npos && first > 0 && first + 1 < stem.size())
    add(stem.substr(first + 1), stem.substr(0, first + 1), stem.size(), stem.substr(0, first));
  return words;
}

/// "_mask_#.png" for "_mask_1.png" and "_mask_2.png", which are two of one kind.
std::string without_numbers(std::string_view after) {
  const std::size_t dot = after.rfind('.');
  if (dot == std::string_view::npos) return skeleton_of(after).text;
  return skeleton_of(after.substr(0, dot)).text + std::string(after.substr(dot));
}

/// Whether a word says that a file comes with an image, such as its mask.
bool says_beside(std::string_view word) {
  if (word.find("mask") != std::string_view::npos) return true;
  return roles_of({std::string(word)}).front().kind == FolderRole::Kind::kBeside;
}

/// Counts, in a class folder, the images that others belong to, by the words in their names.
class FolderCompanions {
 public:
  FolderCompanions(const SourceContents& contents, std::size_t first, std::size_t last)
      : contents_(contents), first_(first) {
    for (std::size_t i = first; i < last; ++i)
      names_.push_back(std::string(naming::last_name(contents.images.path_of(i))));
    if (have_one_form()) return;
    // A share of many files tells as much as all of them do.
    const std::size_t share = names_.size() / kMostNames + 1;
    std::unordered_map<std::string_view, std::vector<std::pair<Affix, std::size_t>>> by_key;
    for (std::size_t i = 0; i < names_.size(); ++i)
      for (Affix& word : affixes_of(names_[i]))
        if (share == 1 || xxh3(as_bytes(word.key)) % share == 0)
          by_key[word.key].emplace_back(std::move(word), i);
    count_usual();
    std::vector<const decltype(by_key)::value_type*> all;
    for (const auto& one : by_key)
      if (one.second.size() > 1) all.push_back(&one);
    std::ranges::sort(all, [](auto* a, auto* b) { return a->first < b->first; });
    for (const auto* one : all) pair_up(one->second);
    for (auto& [key, found] : found_) found.count *= share;
  }

  std::size_t files() const { return names_.size(); }
  struct Found {
    std::size_t image = 0, file = 0;  ///< the first, by their entries
    std::string before, after;        ///< of the file's name
    bool bare = false;                ///< the image's name is the key alone
    bool alike = true;                ///< all files have these words, and not other numbers in them
    std::uint64_t count = 0;
  };
  /// By the words of the image and the file.
  const std::map<std::pair<std::string, std::string>, Found>& found() const { return found_; }

 private:
  static std::string extension_of(std::string_view name) {
    return lower_case(name.substr(stem_of(name).size()));
  }

  /// Whether all names have the same words around what differs: none belongs to another then.
  bool have_one_form() const {
    const auto form_of = [](std::string_view name) {
      std::string form;
      for (const Affix& word : affixes_of(name))
        form.append(word.before).append("*").append(lower_case(word.after));
      return form;
    };
    if (names_.empty()) return true;
    const std::string first = form_of(names_.front());
    return std::ranges::all_of(names_,
                               [&](const std::string& name) { return form_of(name) == first; });
  }

  void count_usual() {
    std::map<std::string, std::size_t> extensions;
    for (const std::string& name : names_) ++extensions[extension_of(name)];
    usual_ = std::ranges::max_element(extensions, [](auto& a, auto& b) {
               return a.second < b.second;
             })->first;
  }

  /// Files with one key. The first in the folder's usual format is the image, if it has no word;
  /// else it is not known which of two words is the image's.
  void pair_up(const std::vector<std::pair<Affix, std::size_t>>& files) {
    const std::pair<Affix, std::size_t>* image = nullptr;
    for (const auto& one : files)
      if (one.first.bare() && (image == nullptr || (extension_of(names_[image->second]) != usual_ &&
                                                    extension_of(names_[one.second]) == usual_)))
        image = &one;
    if (image != nullptr) {
      for (const auto& one : files)
        if (one.second != image->second) add(*image, one);
      return;
    }
    if (files.size() > kMostAffixes) return;
    for (std::size_t i = 0; i < files.size(); ++i)
      for (std::size_t j = i + 1; j < files.size(); ++j)
        if (files[i].second != files[j].second && files[i].first.text != files[j].first.text &&
            !has_digit(files[i].first.text) && !has_digit(files[j].first.text))
          says_beside(files[i].first.text) ? add(files[j], files[i]) : add(files[i], files[j]);
  }

  void add(const std::pair<Affix, std::size_t>& image, const std::pair<Affix, std::size_t>& file) {
    const auto affix = [](const Affix& word) {
      return std::string(word.before) + '*' + without_numbers(word.after);
    };
    Found& one = found_[{image.first.bare() ? "" : affix(image.first), affix(file.first)}];
    if (one.count++ > 0) {
      one.alike = one.alike && one.before == file.first.before && one.after == file.first.after;
      return;
    }
    one.image = first_ + image.second;
    one.file = first_ + file.second;
    one.before = file.first.before;
    one.after = file.first.after;
    one.bare = image.first.bare();
  }

  const SourceContents& contents_;
  std::size_t first_;
  std::vector<std::string> names_;
  std::string usual_;  ///< the extension that most have
  std::map<std::pair<std::string, std::string>, Found> found_;
};

/// What matches the names of such files.
std::string glob_of(const FolderCompanions::Found& found) {
  std::string glob = as_glob(found.before) + '*' + as_glob(without_numbers(found.after));
  std::ranges::replace(glob, '#', '*');
  return glob;
}

/// Whether two pictures are stored alike, as far as can be seen; true where it cannot.
bool stored_alike(const SourceContents& contents, std::size_t one, std::size_t other) {
  if (!contents.look) return true;
  const ProbeResult a = probe_image(contents.look(contents.images[one]));
  const ProbeResult b = probe_image(contents.look(contents.images[other]));
  return !a.info || !b.info ||
         (a.info->components == b.info->components && a.info->bit_depth == b.info->bit_depth &&
          a.info->kind == b.info->kind);
}

/// Whether such a file is no second picture of what an image shows, but comes with it.
bool comes_with(const SourceContents& contents, const FolderCompanions::Found& found) {
  const std::string_view after = found.after;
  if (found.bare && found.before.empty() && after.starts_with('.') && after.rfind('.') == 0)
    return same_proportions(contents, found.image, found.file);
  if (found.bare && found.before.empty() && !is_letter(after.front())) return true;
  return says_beside(stem_of(found.before + std::string(after))) ||
         !stored_alike(contents, found.image, found.file);
}

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

/// The stem of an image's name by the entry.
std::string stem_at(const EntryTable& images, std::size_t i) {
  const std::string path = images.path_of(i);
  return std::string(stem_of(naming::last_name(path)));
}

/// What the names of a class folder's images have in common with those of another.
class ImageNames {
 public:
  /// Takes all images first: what all stems end with is no part of their names ("-color").
  void see(std::string_view stem) {
    if (seen_++ == 0) {
      ending_ = stem;
      return;
    }
    std::size_t same = 0;
    while (same < ending_.size() && same + 1 < stem.size() &&
           ending_[ending_.size() - same - 1] == stem[stem.size() - same - 1])
      ++same;
    ending_.erase(0, ending_.size() - same);
    behind_digit_ = same < stem.size() && is_digit(stem[stem.size() - same - 1]);
  }

  void add(std::string_view stem, std::size_t image) {
    if (count_++ == 0) settle_ending();
    stem.remove_suffix(ending_.size());
    count_number(stem);
    const std::pair one(xxh3(as_bytes(stem)), image);
    if (least_.size() == kSketch && one >= least_.front()) return;
    least_.push_back(one);
    std::push_heap(least_.begin(), least_.end());
    if (least_.size() <= kSketch) return;
    std::pop_heap(least_.begin(), least_.end());
    least_.pop_back();
  }
  /// No add() after this.
  void finish() { std::ranges::sort(least_); }

  std::uint64_t count() const { return count_; }
  /// Whether they differ in a number alone, which says nothing of what the images show.
  bool are_numbers() const { return numbers_; }
  bool have_no_gap() const { return most_ - least_number_ == count_ - 1; }
  std::span<const std::pair<std::uint64_t, std::size_t>> least() const { return least_; }

  /// Images of the same names, some of them: all when there are few. `most`: whether half of the
  /// images of the larger folder have the name of one in the other.
  std::vector<std::pair<std::size_t, std::size_t>> in_common(const ImageNames& other,
                                                             bool& most) const {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    std::size_t seen = 0;
    auto a = least_.begin();
    for (auto b = other.least_.begin();
         seen < kSketch && (a != least_.end() || b != other.least_.end()); ++seen) {
      const bool mine = a != least_.end(), theirs = b != other.least_.end();
      if (mine && theirs && a->first == b->first) {
        pairs.emplace_back(a->second, b->second);
        ++a, ++b;
      } else if (mine && (!theirs || a->first < b->first)) {
        ++a;
      } else {
        ++b;
      }
    }
    // The share of the union that is in both, as the least hashes are drawn from it at random.
    const double both = static_cast<double>(pairs.size()) / static_cast<double>(seen);
    const double common = both / (1 + both) * static_cast<double>(count_ + other.count_);
    most = 2 * common >= static_cast<double>(std::max(count_, other.count_)) - 0.5;
    return pairs;
  }

 private:
  static constexpr std::size_t kSketch = 256;

  /// What is cut off begins with a separator, or with a letter behind a number ("0001x4").
  void settle_ending() {
    if (seen_ < 2) return ending_.clear();
    if (behind_digit_ && !ending_.empty() && is_letter(ending_.front())) return;
    ending_.erase(0, std::min(ending_.find_first_of("_-. ("), ending_.size()));
  }

  void count_number(std::string_view stem) {
    if (!numbers_) return;
    std::size_t end = stem.size();
    while (end > 0 && !is_digit(stem[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(stem[begin - 1])) --begin;
    if (count_ == 1) before_ = stem.substr(0, begin), after_ = stem.substr(end);
    std::uint64_t number = 0;
    numbers_ = stem.substr(0, begin) == before_ && stem.substr(end) == after_ &&
               std::from_chars(stem.data() + begin, stem.data() + end, number).ec == std::errc();
    least_number_ = std::min(least_number_, number);
    most_ = std::max(most_, number);
  }

  std::string ending_, before_, after_;  ///< the last two: around the number
  std::uint64_t seen_ = 0, count_ = 0, least_number_ = ~std::uint64_t{0}, most_ = 0;
  bool numbers_ = true, behind_digit_ = false;
  std::vector<std::pair<std::uint64_t, std::size_t>> least_;  ///< hashes of stems, and images
};

}  // namespace

std::vector<std::string> numbered_parts(const std::set<std::string>& names) {
  std::map<std::string, std::pair<std::vector<Skeleton>, std::vector<std::string>>> numbered;
  std::map<std::string, std::vector<std::string>> lettered;
  for (const std::string& name : names) {
    Skeleton skeleton = skeleton_of(name);
    if (auto form = without_letter(name)) lettered[*form].push_back(name);
    if (skeleton.numbers.empty()) continue;
    auto& [skeletons, group] = numbered[skeleton.text];
    skeletons.push_back(std::move(skeleton));
    group.push_back(name);
  }
  const auto most = [&](const auto& group) { return 2 * group.size() >= names.size(); };
  for (auto& [form, group] : numbered)
    if (most(group.second) && are_parts(form, group.first)) return std::move(group.second);
  for (auto& [form, group] : lettered)
    if (group.size() > 1 && most(group) && !says_class(form)) return std::move(group);
  return {};
}

std::vector<std::string> renderings(const SourceContents& contents, const Layout::Root& root,
                                    bool* unlike) {
  std::map<std::string, ImageNames, std::less<>> classes;
  for (const bool first_look : {true, false})
    by_class(contents, root, [&](std::string_view name, std::size_t first, std::size_t last) {
      ImageNames& names = classes[std::string(name)];
      for (std::size_t i = first; i < last; ++i) {
        const std::string stem = stem_at(contents.images, i);
        first_look ? names.see(stem) : names.add(stem, i);
      }
    });
  for (auto& [name, names] : classes) names.finish();

  std::size_t looks = 0;
  const auto same = [&](const ImageNames& one, const ImageNames& other) {
    bool most = false;
    const auto pairs = one.in_common(other, most);
    if (one.count() < 2 || other.count() < 2 || !most) return false;
    if (one.are_numbers() && other.are_numbers()) {
      const bool gaps = !one.have_no_gap() || !other.have_no_gap();
      const bool equal = one.count() == other.count() && pairs.size() == one.least().size();
      if (gaps ? classes.size() > kMostRenderings && !equal
               : classes.size() > kMostRenderings || !equal)
        return false;
    }
    for (std::size_t i = 0; i < std::min(pairs.size(), kMostLooks); ++i, ++looks)
      if (looks < kMostLooksAtAll && !same_proportions(contents, pairs[i].first, pairs[i].second))
        return false;
    const bool numbers = one.are_numbers() && other.are_numbers();
    if (looks >= kMostLooksAtAll) return false;
    if (!numbers || !are_unrelated(contents, pairs)) return true;
    if (unlike != nullptr) *unlike = true;
    return false;
  };
  // Folders that have most names in common have one of their least hashes in common.
  std::unordered_map<std::uint64_t, decltype(classes)::const_iterator> firsts;
  for (auto at = classes.cbegin(); at != classes.cend(); ++at) {
    std::set<const ImageNames*> compared;
    for (const auto& [hash, image] : at->second.least().first(
             std::min<std::size_t>(at->second.least().size(), kHashesInCommon))) {
      const auto [first, is_new] = firsts.emplace(hash, at);
      if (is_new || first->second == at || !compared.insert(&first->second->second).second ||
          !same(first->second->second, at->second))
        continue;
      std::vector<std::string> group;
      for (auto one = first->second; one != classes.cend(); ++one)
        if (one == first->second || one == at || same(first->second->second, one->second))
          group.push_back(one->first);
      return group;
    }
  }
  return {};
}

std::optional<Companions> companions_in(const SourceContents& contents, const Layout& layout) {
  std::set<const Layout::Root*>
      with_classes;  // images that lie elsewhere in them are none of these
  const auto visit_images = [&](const auto& visit) {
    by_directory(contents.images,
                 [&](std::string_view directory, std::size_t first, std::size_t last) {
                   std::string_view below;
                   const std::string path = naming::join(directory, "x");
                   const Layout::Root* root = layout.root_of(path, below);
                   if (root == nullptr || root->given) return;
                   visit(*root, !root->class_of(below).empty(), directory, first, last);
                 });
  };
  visit_images(
      [&](const Layout::Root& root, bool in_class, std::string_view, std::size_t, std::size_t) {
        if (in_class) with_classes.insert(&root);
      });
  struct Sum {
    Companions companions;
    bool many = false;  ///< of half of the images of a folder
  };
  std::map<std::pair<std::string, std::string>, Sum> all;  // by the words
  visit_images([&](const Layout::Root& root, bool in_class, std::string_view directory,
                   std::size_t first, std::size_t last) {
    if (!in_class && with_classes.contains(&root)) return;
    const FolderCompanions here(contents, first, last);
    for (const auto& [words, found] : here.found()) {
      if (!comes_with(contents, found)) continue;
      Sum& one = all[words];
      std::string place = found.before + "{stem}" + found.after;
      if (!found.bare || !found.alike) place.clear();
      if (one.companions.count == 0) {
        const auto name = [&](std::size_t i) {
          return std::string(naming::last_name(contents.images.path_of(i)));
        };
        one.companions = {std::string(directory), name(found.image), name(found.file),
                          std::move(place),       glob_of(found),    0};
      } else if (place != one.companions.place) {
        one.companions.place.clear();
      }
      one.companions.count += found.count;
      one.many = one.many || 3 * found.count >= here.files();
    }
  });
  const Companions* most = nullptr;
  for (const auto& [words, one] : all) {
    const bool few = one.companions.place.empty() || !one.many;
    if (one.companions.count < 2 && few) continue;
    if (most == nullptr || one.companions.count > most->count) most = &one.companions;
  }
  return most == nullptr ? std::nullopt : std::optional(*most);
}

}  // namespace packhorse

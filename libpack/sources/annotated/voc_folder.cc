#include "sources/annotated/voc_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "annotations/voc_file.h"
#include "base/ascii.h"
#include "base/byte_order_mark.h"
#include "base/directory_look.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/printable.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::voc {

namespace fs = std::filesystem;

namespace {

constexpr const char* kImages = "JPEGImages";
constexpr const char* kXml = "Annotations";
constexpr const char* kSets = "ImageSets/Main";
constexpr const char* kInNoSet = "in none of the lists of splits in ImageSets/Main";
constexpr const char* kNoXml = "in a split without annotations";
constexpr const char* kNotThere = "not there, but in the list of a split without annotations";
constexpr const char* kBoth = "trainval";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::uintmax_t kMostSetBytes = std::uintmax_t{1} << 28;
constexpr int kMostWrappers = 3;

bool is_voc(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path / kImages, code) && fs::is_directory(path / kXml, code);
}

/// The folder itself, or the one that is alone in it.
fs::path voc_in(fs::path path) {
  for (int i = 0; i < kMostWrappers && !is_voc(path); ++i) {
    const std::vector<std::string> inside = folders_in(path);
    if (inside.size() != 1) break;
    path /= inside.front();
  }
  return path;
}

std::string_view stem_of(std::string_view path) {
  const std::string_view name = naming::last_name(path);
  return name.substr(0, name.rfind('.'));
}

/// The split that a list is of by its name: "train" for "Train" and "train2012", "trainval" for
/// "train_val"; "" for other names.
std::string split_of_list(const std::string& name) {
  std::string letters;
  for (const char c : lower_case(name))
    if (c >= 'a' && c <= 'z') letters += c;
  return letters == kBoth ? kBoth : split_named(name);
}

/// Whether a name is that of a list about one class in a split: "cat_train".
bool is_named_by_class(const std::string& name) {
  const std::size_t end = name.rfind('_');
  return end != std::string::npos && end != 0 && !split_of_list(name.substr(end + 1)).empty();
}

struct SplitList {
  std::string file;  ///< in kSets
  std::vector<std::string> members;
  bool more = false;  ///< it says more of an image than its name: whether it shows a class (1, -1)
};

/// A list, an image a line.
SplitList read_list(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / name;
  std::error_code code;
  if (fs::file_size(file, code) > kMostSetBytes)
    throw Error(ErrorKind::kUsage, "the list of a split is larger than 256 MiB", file,
                "give the right file");
  const std::vector<std::byte> bytes = read_file(file);
  std::string_view text = without_byte_order_mark(as_text(bytes));
  SplitList list{name, {}};
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view member = line.substr(0, line.find_first_of(kBlanks));
    if (member.empty()) continue;
    list.members.emplace_back(member);
    line.remove_prefix(member.size());
    list.more = list.more || line.find_first_not_of(kBlanks) != std::string_view::npos;
  }
  return list;
}

class VocFolder final : public AnnotatedFolder {
 public:
  explicit VocFolder(const fs::path& path) : AnnotatedFolder(voc_in(path)) {
    targets_.notation = TargetOptions::Notation::kVoc;
    if (!is_voc(root()))
      throw Error(ErrorKind::kUsage, "there are no folders JPEGImages and Annotations", path,
                  "say where the XML files lie: --targets voc --field-from xml=FOLDER "
                  "--target-classes FILE");
    read_sets();
  }

  Listing list(const ListOptions& options) override {
    refuse_others(options);
    ListOptions inside = options;
    inside.labels.unlabelled = true;
    inside.fields = {};
    inside.fields.places = {{"xml", kXml, false}};
    inside.split_folders = {{{"", kImages}}};
    Listing listing = folder_->list(inside);
    listing.notes.clear();  // they are about the folders and the missing files
    if (!sets_.empty()) divide(listing);
    if (!others_.empty())
      listing.notes.push_back(
          fmt::format("not read as splits: {} in {}", naming::quoted(others_), kSets));
    targets_.classes = options.targets.classes;
    if (targets_.classes.empty()) find_classes(listing);
    listing.detected = fmt::format("Pascal VOC: images in {0}, annotations in {1}{2}", kImages,
                                   kXml, sets_.empty() ? "" : fmt::format(", splits by {}", kSets));
    return listing;
  }

 private:
  void read_sets() {
    std::map<std::string, std::vector<SplitList>> found;
    for (const std::string& file : files_in(root() / kSets)) {
      const fs::path path = file;
      if (lower_case(path.extension().native()) != ".txt") continue;
      const std::string name = path.stem().native();
      SplitList list = read_list(root() / kSets, file);
      if (list.more && is_named_by_class(name)) continue;
      const std::string split = split_of_list(name);
      if (split.empty())
        others_.push_back(file);
      else
        found[split].push_back(std::move(list));
    }
    for (auto& [split, lists] : found) sets_.emplace(split, choose(split, lists));
    drop_both();
  }

  /// What is in trainval is in train or in val, where there is one of them.
  void drop_both() {
    const auto both = sets_.find(kBoth);
    if (both == sets_.end()) return;
    std::set<std::string_view> known;
    for (const char* part : {"train", "val"}) {
      const auto set = sets_.find(part);
      if (set != sets_.end()) known.insert(set->second.members.begin(), set->second.members.end());
    }
    if (known.empty()) return;
    for (const std::string& member : both->second.members) {
      if (!known.contains(member))
        throw Error(ErrorKind::kUsage,
                    fmt::format("{} is in {}, but in no list of train or val", printable(member),
                                printable(both->second.file)),
                    root() / kSets, "correct the lists, or remove that of trainval");
    }
    sets_.erase(both);
  }

  /// The list that is called as the split, or else the only one. The others are not read.
  SplitList choose(const std::string& split, std::vector<SplitList>& lists) {
    auto own = std::ranges::find(lists, split + ".txt", &SplitList::file);
    if (own == lists.end() && lists.size() > 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("two lists are for the split {}: {} and {}", split,
                              printable(lists[0].file), printable(lists[1].file)),
                  root() / kSets, "leave one of them, or call it " + split + ".txt");
    if (own == lists.end()) own = lists.begin();
    for (auto list = lists.begin(); list != lists.end(); ++list)
      if (list != own) others_.push_back(list->file);
    return std::move(*own);
  }

  /// Makes a split of the images in each list.
  void divide(Listing& listing) {
    SplitListing whole = std::move(listing.splits.front());
    std::unordered_map<std::string, std::size_t> image_of;
    std::unordered_map<std::size_t, std::size_t> others;  // of the same name
    for (std::size_t i = 0; i < whole.entries.size(); ++i)
      if (const auto [at, fresh] =
              image_of.emplace(std::string(stem_of(whole.entries.path_of(i))), i);
          !fresh)
        others.emplace(at->second, i);
    std::set<std::string, std::less<>> rejected;  // images that are there
    for (const Reject& reject : whole.rejects) rejected.emplace(stem_of(reject.path));
    std::vector<bool> used(whole.entries.size());
    listing.splits.clear();
    for (const auto& [name, set] : sets_) {
      SplitListing split;
      split.split = name;
      split.origin = whole.origin;
      split.entries = EntryTable(whole.entries.memory());
      std::vector<std::size_t> entries;
      bool any = false;
      for (const std::string& member : set.members) {
        const auto found = image_of.find(member);
        if (found == image_of.end()) {
          if (rejected.contains(printable(member))) continue;
          split.rejects.push_back({printable(member), fmt::format("not there, but in {}/{}", kSets,
                                                                  printable(set.file))});
          continue;
        }
        if (const auto other = others.find(found->second); other != others.end())
          throw Error(
              ErrorKind::kUsage,
              fmt::format("{} is in {}, and two images are called so: {} and {}", printable(member),
                          printable(set.file), printable(whole.entries.path_of(found->second)),
                          printable(whole.entries.path_of(other->second))),
              root() / kImages, "move one of them out of the folder");
        if (used[found->second])
          throw Error(ErrorKind::kUsage,
                      "the image " + printable(member) + " is twice in the lists of splits",
                      root() / kSets, "let each image be in one split, once");
        used[found->second] = true;
        entries.push_back(found->second);
        any = any || whole.entries.facts(found->second).fields != 0;
      }
      if (!any && name == "test") {
        leave_out(whole, entries, split, listing);
        continue;
      }
      std::sort(entries.begin(), entries.end());
      for (const std::size_t i : entries) split.entries.add_from(whole.entries, i);
      listing.splits.push_back(std::move(split));
    }
    if (listing.splits.empty())
      throw Error(ErrorKind::kUsage, "no image in the lists of splits has annotations", root(),
                  "give --source-kind folder --unlabelled to pack images alone");
    SplitListing& first = listing.splits.front();
    first.rejects.insert(first.rejects.end(), whole.rejects.begin(), whole.rejects.end());
    first.skips = std::move(whole.skips);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) first.skips.push_back({printable(whole.entries.path_of(i)), kInNoSet});
    }
  }

  static void leave_out(const SplitListing& whole, const std::vector<std::size_t>& entries,
                        const SplitListing& split, Listing& listing) {
    for (const std::size_t i : entries)
      listing.skips.push_back(
          {printable(naming::join(whole.origin, whole.entries.path_of(i))), kNoXml});
    for (const Reject& member : split.rejects) listing.skips.push_back({member.path, kNotThere});
    listing.notes.push_back("the split test is left out: none of its images has annotations");
  }

  /// The names of classes in all files, sorted. A file that is damaged is rejected when it is
  /// packed.
  void find_classes(Listing& listing) {
    std::set<std::string> names;
    const ListedFolder folder(root());
    std::vector<std::byte> bytes;
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size(); ++i) {
        if (split.entries.facts(i).fields == 0) continue;
        const std::string path = split.entries.path_of(i);
        const std::string xml =
            std::string(path.substr(0, path.size() - naming::last_name(path).size())) +
            std::string(stem_of(path)) + ".xml";
        try {
          folder.read_unlisted(naming::join(kXml, xml), bytes, ListedFolder::Links::kInside);
          for (const VocFile::Object& object : parse_voc(as_text(bytes)).objects)
            names.insert(object.name);
        } catch (const Error&) {
          continue;
        }
      }
    }
    if (names.empty())
      throw Error(ErrorKind::kUsage, "no annotation names a class", root() / kXml,
                  "give --targets voc --target-classes FILE, a name a line");
    targets_.classes.assign(names.begin(), names.end());
    listing.notes.push_back(
        fmt::format("the {} of the objects are those of the annotations, sorted: {}; --targets voc "
                    "--target-classes FILE fixes them",
                    names.size() == 1 ? "class" : fmt::format("{} classes", names.size()),
                    naming::quoted(targets_.classes)));
  }

  std::map<std::string, SplitList> sets_;  ///< by the split
  std::vector<std::string> others_;        ///< lists that are not read
};

}  // namespace

bool probe(const fs::path& path) {
  const fs::path folder = voc_in(path);
  if (!is_voc(folder)) return false;
  bool found = false;
  look_in(folder / kXml, [&](const fs::directory_entry& entry) {
    found = entry.path().extension() == ".xml";
    return !found;
  });
  return found;
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<VocFolder>(path); }

}  // namespace packhorse::voc

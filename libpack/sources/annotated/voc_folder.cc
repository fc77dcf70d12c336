#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "annotations/voc_file.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"

namespace packhorse::voc {

namespace fs = std::filesystem;

namespace {

constexpr const char* kImages = "JPEGImages";
constexpr const char* kXml = "Annotations";
constexpr std::string_view kField = "xml";
constexpr const char* kSets = "ImageSets/Main";
constexpr const char* kInNoSet = "in none of the lists of splits in ImageSets/Main";
constexpr const char* kNoXml = "in a split without annotations";
constexpr const char* kNotThere = "not there, but in the list of a split without annotations";
constexpr const char* kBoth = "trainval";
constexpr std::string_view kBlanks = " \t";
constexpr std::uintmax_t kMostSetBytes = std::uintmax_t{1} << 28;
constexpr int kMostWrappers = 3;
constexpr std::size_t kMostFolders = 16, kMostLookedAt = 4096;  // of a folder, and files in each

/// Where the images and the XML files lie, as paths in a folder. In one place: beside each other.
struct VocPlaces {
  std::vector<std::string> images;
  std::string xml;
  bool beside = false;
};

bool is_xml_name(const fs::path& name) { return lower_case(name.extension().native()) == ".xml"; }

struct Holds {
  bool images = false, xml = false;
  fs::path an_xml;
};

Holds look_for_both(const fs::path& folder, FolderLook& look) {
  Holds holds;
  std::size_t files = 0;
  look.look_in(folder, [&](const fs::directory_entry& entry) {
    if (is_xml_name(entry.path())) {
      holds.xml = true;
      holds.an_xml = entry.path();
    }
    holds.images = holds.images || naming::has_image_name(entry.path().filename().native());
    return !(holds.images && holds.xml) && ++files < kMostLookedAt;
  });
  return holds;
}

bool is_annotation(const fs::path& xml) {
  try {
    parse_voc(as_text(read_file(xml)));
    return true;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kUnsupported;  // which is told when it is read
  }
}

/// VOC's own folders; or one folder of images and one of XML files, and no other that holds such;
/// or images with XML files beside them, in the folder itself or in folders of splits alone.
std::optional<VocPlaces> places_in(const fs::path& path, FolderLook& look) {
  if (is_folder(path / kImages) && is_folder(path / kXml)) return VocPlaces{{kImages}, kXml};
  if (!is_folder(path)) return std::nullopt;
  const Holds own = look_for_both(path, look);
  if (own.images || own.xml)
    return own.images && own.xml && is_annotation(own.an_xml)
               ? std::optional(VocPlaces{{""}, "", true})
               : std::nullopt;
  std::vector<std::string> images, both;
  VocPlaces found;
  fs::path an_xml;
  std::size_t of_xml = 0;
  const std::vector<std::string> folders = look.folders_in(path);
  if (folders.size() > kMostFolders) return std::nullopt;
  for (const std::string& folder : folders) {
    Holds holds;
    try {
      holds = look_for_both(path / folder, look);
    } catch (const Error&) {  // which is told when it is listed
      return std::nullopt;
    }
    if (holds.xml) an_xml = holds.an_xml;
    if (holds.images && holds.xml) both.push_back(folder);
    // Masks lie beside the images, which are elsewhere.
    if (holds.images && !holds.xml && is_beside_images(folder)) return std::nullopt;
    if (holds.images && !holds.xml) images.push_back(folder);
    if (holds.images || !holds.xml) continue;
    found.xml = folder;
    ++of_xml;
  }
  const bool apart = images.size() == 1 && of_xml == 1 && both.empty();
  const bool beside = images.empty() && of_xml == 0 && !both.empty() &&
                      std::ranges::none_of(both, [](const std::string& folder) {
                        return split_named(folder).empty();
                      });
  if (!(apart || beside) || !is_annotation(an_xml)) return std::nullopt;
  found.images = apart ? images : both;
  found.beside = beside;
  return found;
}

/// The folder itself, or the one that is alone in it.
fs::path voc_in(fs::path path, FolderLook& look) {
  for (int i = 0; i < kMostWrappers && !places_in(path, look); ++i) {
    const std::vector<std::string> inside = look.folders_in(path);
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
  SplitList list{name, {}};
  TextLines lines(as_text(bytes), file);
  for (std::string_view line; lines.next(line);) {
    const std::string_view member = voc_list_member(line);
    if (member.empty()) continue;
    list.members.emplace_back(member);
    const std::size_t behind =
        static_cast<std::size_t>(member.data() - line.data()) + member.size();
    list.more = list.more || line.find_first_not_of(kBlanks, behind) != std::string_view::npos;
  }
  return list;
}

class VocFolder final : public AnnotatedFolder {
 public:
  explicit VocFolder(const fs::path& path, FolderLook look = FolderLook())
      : AnnotatedFolder(voc_in(path, look)), xml_(root()) {
    targets_.notation = TargetOptions::Notation::kVoc;
    const std::optional<VocPlaces> places = places_in(root(), look);
    if (!places)
      throw Error(ErrorKind::kUsage, "there are no folders JPEGImages and Annotations", path,
                  "say where the XML files lie: `targets=voc` `field_from=xml=FOLDER`; or beside "
                  "the images: `targets=voc` `fields=xml`");
    places_ = *places;
    if (places_.images.front() == kImages) read_sets();
  }

  Listing list(const ListOptions& options) override {
    refuse_others(options);
    ListOptions inside = options;
    inside.labels.unlabelled = true;
    inside.fields = {};
    if (places_.beside)
      inside.fields.names = {{std::string(kField)}};
    else
      inside.fields.places = {{std::string(kField), places_.xml, false}};
    inside.split_folders.emplace();
    for (const std::string& folder : places_.images)
      if (!folder.empty())
        inside.split_folders->push_back({places_.beside ? split_named(folder) : "", folder});
    Listing listing = folder_->list(inside);
    listing.notes.clear();  // they are about the folders and the missing files
    if (!sets_.empty()) divide(listing);
    if (!others_.empty())
      listing.notes.push_back(
          fmt::format("not read as splits: {} in {}", naming::quoted(others_), kSets));
    listing.detected = told();
    return listing;
  }

  void read_field(const SplitListing& split, std::size_t i, std::size_t field,
                  std::vector<std::byte>& out) const override {
    if (places_.beside) return AnnotatedFolder::read_field(split, i, field, out);
    const std::string path = split.entries.path_of(i);
    const std::string_view above =
        std::string_view(path).substr(0, path.size() - naming::last_name(path).size());
    const std::string xml = fmt::format("{}{}.xml", above, stem_of(path));
    xml_.read_unlisted(naming::join(places_.xml, xml), out, ListedFolder::Links::kInside);
  }

 private:
  std::string told() const {
    std::vector<std::string> folders;
    for (const std::string& folder : places_.images)
      if (!folder.empty()) folders.push_back(printable(folder));
    const std::string images = fmt::format("{}", fmt::join(folders, ", "));
    if (places_.beside)
      return "Pascal VOC: XML files beside the images" + (images.empty() ? "" : " in " + images);
    return fmt::format("Pascal VOC: images in {}, annotations in {}{}", images,
                       printable(places_.xml),
                       sets_.empty() ? "" : fmt::format(", splits by {}", kSets));
  }

  void read_sets() {
    std::map<std::string, std::vector<SplitList>> found;
    for (const std::string& file : FolderLook().files_in(root() / kSets)) {
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
          split.rejects.push_back({printable(member),
                                   {Reason::kNotThere, fmt::format("not there, but in {}/{}", kSets,
                                                                   printable(set.file))}});
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
      std::ranges::sort(entries);
      for (const std::size_t i : entries) split.entries.add_from(whole.entries, i);
      listing.splits.push_back(std::move(split));
    }
    if (listing.splits.empty())
      throw Error(ErrorKind::kUsage, "no image in the lists of splits has annotations", root(),
                  "give `source_kind=folder` `unlabelled=true` to pack images alone");
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

  VocPlaces places_;
  const ListedFolder xml_;
  std::map<std::string, SplitList> sets_;  ///< by the split
  std::vector<std::string> others_;        ///< lists that are not read
};

}  // namespace

bool probe(const fs::path& path, FolderLook& look) {
  const fs::path folder = voc_in(path, look);
  const std::optional<VocPlaces> places = places_in(folder, look);
  return places && (places->beside || look_for_both(folder / places->xml, look).xml);
}

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<VocFolder>(path); }

}  // namespace packhorse::voc

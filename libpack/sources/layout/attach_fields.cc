#include "sources/layout/attach_fields.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/hash.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using naming::shown;

/// A path without the extension of its file.
std::string_view without_extension(std::string_view path) {
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)
             ? path
             : path.substr(0, dot);
}

class Attaching {
 public:
  using Take = std::function<void(EntryTable::Facts&, const FoundFields&)>;

  Attaching(Listing& listing, const Layout& layout, const FieldSet& fields,
            std::vector<FieldFile> files, const fs::path& source,
            const UnreadableFolders& unreadable)
      : listing_(listing),
        layout_(layout),
        fields_(fields),
        files_(std::move(files)),
        source_(source),
        unreadable_(unreadable),
        seen_(fields.size()) {
    std::ranges::stable_sort(files_, {}, &FieldFile::path);
    const auto end = std::unique(files_.rbegin(), files_.rend(),
                                 [](const auto& a, const auto& b) { return a.path == b.path; });
    files_.erase(files_.begin(), end.base());
    users_.resize(files_.size());
  }

  void run(const Take& take) {
    for (std::size_t s = 0; s < listing_.splits.size(); ++s) find_shared(s);
    for (std::size_t s = 0; s < listing_.splits.size(); ++s) attach(s, take);
    for (std::size_t f = 0; f < fields_.size(); ++f)
      if (fields_[f].place) judge(fields_[f], seen_[f]);
    skip_unused();
  }

 private:
  /// What became of one field.
  struct Seen {
    std::uint64_t found = 0, missing = 0;
    std::string image, file;  ///< the first image without it, and where it was looked for
    std::set<std::string, std::less<>> shared;  ///< its folders that images with it lie in, too
  };
  /// What becomes of one image.
  struct Verdict {
    Problem problem;       ///< why it is rejected; empty: it is not
    bool skipped = false;  ///< it is no image, but lies with the files of a field
  };

  /// Finds the folders of fields that hold images, too.
  void find_shared(std::size_t s) {
    const SplitListing& split = listing_.splits[s];
    for (std::size_t i = 0; i < split.entries.size(); ++i) {
      const std::string image = naming::join(split.origin, split.entries.path_of(i));
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::string_view folder = folder_of_field(f, image);
        if (folder.empty() || seen_[f].shared.contains(folder)) continue;
        const auto path = fields_[f].place->file_of(layout_.roots[s].place_of(image));
        if (path && find(*path) != files_.end()) seen_[f].shared.emplace(folder);
      }
    }
  }

  /// The topmost folder around an image whose name the field's pattern spells out; mostly none.
  /// Images of one folder come one after the other, so it is not looked up for each.
  std::string_view folder_of_field(std::size_t f, std::string_view image) {
    const std::string_view directory = naming::directory_of(image);
    if (folders_.empty() || directory != directory_) {
      directory_ = directory;
      folders_.clear();
      for (const FieldSet::Field& field : fields_.all()) folders_.push_back(spelled(field));
    }
    return folders_[f];
  }

  std::string spelled(const FieldSet::Field& field) const {
    for (std::size_t at = 0; field.place && !directory_.empty() && at != std::string::npos;) {
      at = directory_.find('/', at + 1);
      std::string folder = directory_.substr(0, at);
      if (field.place->spells(folder)) return folder;
    }
    return {};
  }

  void attach(std::size_t s, const Take& take) {
    SplitListing& split = listing_.splits[s];
    FoundFields found;
    split.entries.revise([&](std::size_t i, EntryTable::Facts& facts) {
      const std::string below = split.entries.path_of(i);
      const std::string path = naming::join(split.origin, below);
      found.clear();
      Verdict verdict = find_all(path, layout_.roots[s].place_of(path), found);
      for (const auto& [f, file] : found)
        if (!facts.add_field(f, file->size)) verdict.problem = Reason::kFieldsTooLarge;
      if (verdict.skipped) {
        split.skips.push_back({printable(below), naming::kInFieldFolder});
        return false;
      }
      if (!verdict.problem.empty()) {
        split.rejects.push_back({printable(below), verdict.problem});
        return false;
      }
      if (!found.empty()) take(facts, found);
      return true;
    });
  }

  Verdict find_all(const std::string& image, const ImagePlace& place, FoundFields& found) {
    Verdict verdict;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (!fields_[f].place) continue;
      const std::string_view folder = folder_of_field(f, image);
      if (!folder.empty() && !seen_[f].shared.contains(folder)) return {{}, true};
      const std::optional<std::string> path = fields_[f].place->file_of(place);
      const auto file = path ? find(*path) : files_.end();
      if (file != files_.end()) {
        ++seen_[f].found;
        found.emplace_back(f, &*file);
        refuse_shared(fields_[f].name, image, *file);
        continue;
      }
      const std::string closed = path ? unreadable_around(*path) : std::string();
      if (!closed.empty()) {
        verdict.problem = {Reason::kUnreadable, "its field " + fields_[f].name + ": " + closed};
        continue;
      }
      if (seen_[f].missing++ == 0) seen_[f].image = image, seen_[f].file = path.value_or("");
      if (fields_[f].required)
        verdict.problem = {
            Reason::kNoField,
            std::string(row_of(Reason::kNoField).text) + fields_[f].name + ": " +
                (path ? "there is no " + shown(*path) : "its name does not fit the pattern")};
    }
    return verdict;
  }

  /// The unreadable folder around a file, and why it is; "" when there is none.
  std::string unreadable_around(const std::string& path) const {
    for (std::size_t at = path.find('/'); !unreadable_.empty() && at != std::string::npos;
         at = path.find('/', at + 1)) {
      const auto folder = unreadable_.find(std::string_view(path).substr(0, at));
      if (folder != unreadable_.end())
        return "unreadable folder " + shown(folder->first) + ": " + folder->second;
    }
    return {};
  }

  std::vector<FieldFile>::const_iterator first_from(const std::string& path) const {
    return std::lower_bound(
        files_.begin(), files_.end(), path,
        [](const FieldFile& file, const std::string& wanted) { return file.path < wanted; });
  }

  std::vector<FieldFile>::const_iterator find(const std::string& path) const {
    const auto at = first_from(path);
    return at != files_.end() && at->path == path ? at : files_.end();
  }

  void refuse_shared(const std::string& field, const std::string& image, const FieldFile& file) {
    std::uint64_t& user = users_[static_cast<std::size_t>(&file - files_.data())];
    const std::uint64_t name = xxh3(as_bytes(without_extension(image))) | 1;
    if (user == 0) user = name;
    if (user == name) return;
    throw Error(ErrorKind::kUsage,
                "two images would take one file as their field " + field + ", " + shown(file.path) +
                    "; one of them is " + shown(image),
                source_,
                "tell them apart in the place of the field, with {dir}, {class} or {split}");
  }

  /// Refuses a field that no image has, and notes how many lack it.
  void judge(const FieldSet::Field& field, const Seen& seen) {
    if (seen.missing == 0) return;
    const std::string looked =
        seen.file.empty() ? "no file's name could be made for " + shown(seen.image)
                          : "for " + shown(seen.image) + " it would be " + shown(seen.file);
    if (seen.found == 0) {
      throw Error(ErrorKind::kUsage,
                  "no image has the field " + field.name + ": " + looked + there(seen.file),
                  source_,
                  "say where its files lie: a folder as it is in the source, or their paths, with "
                  "{stem}, {stem%ENDING}, {dir}, {class} and {split}");
    }
    if (field.required) return;
    listing_.notes.push_back("without the field " + field.name + ": " +
                             std::to_string(seen.missing) + " of " +
                             std::to_string(seen.missing + seen.found) + " images; " + looked);
  }

  /// A file that could have been meant instead.
  std::string there(const std::string& path) const {
    if (files_.empty()) return {};
    const auto like = first_from(path);
    return ", and there is " + shown(like != files_.end() ? like->path : files_.back().path);
  }

  void skip_unused() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (users_[i] != 0) continue;
      std::string_view below;
      const Layout::Root* root = layout_.root_of(files_[i].path, below);
      if (root == nullptr) {
        listing_.skips.push_back({printable(files_[i].path), naming::kFieldAlone});
      } else {
        const auto s = static_cast<std::size_t>(root - layout_.roots.data());
        listing_.splits[s].skips.push_back({printable(std::string(below)), naming::kFieldAlone});
      }
    }
  }

  Listing& listing_;
  const Layout& layout_;
  const FieldSet& fields_;
  std::vector<FieldFile> files_;      ///< by path
  std::vector<std::uint64_t> users_;  ///< of each file, the hash of its image's name; 0 = none
  const fs::path& source_;
  const UnreadableFolders& unreadable_;
  std::vector<Seen> seen_;            ///< of each field
  std::string directory_;             ///< that folders_ is about
  std::vector<std::string> folders_;  ///< of each field, folder_of_field()
};

}  // namespace

void attach_fields(Listing& listing, const Layout& layout, const FieldSet& fields,
                   std::vector<FieldFile> files, const fs::path& source,
                   const std::function<void(EntryTable::Facts&, const FoundFields&)>& take,
                   const UnreadableFolders& unreadable) {
  if (!fields.any_elsewhere()) return;
  Attaching(listing, layout, fields, std::move(files), source, unreadable).run(take);
}

std::uint32_t fields_in(const Listing& listing) {
  std::uint32_t bits = 0;
  for (const SplitListing& split : listing.splits)
    for (std::size_t i = 0; i < split.entries.size(); ++i) bits |= split.entries.facts(i).fields;
  return bits;
}

}  // namespace packhorse

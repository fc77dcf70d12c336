#include "sources/archive/archive_contents.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/printable.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using naming::directory_and_name;

constexpr const char* kLeaves = "its path leaves the archive";
constexpr const char* kReplaced = "the archive holds a file of the same name further on";

/// Reads the members of an archive one after the other.
class ContentsReader {
 public:
  ContentsReader(Payloads& payloads, std::uint32_t file, const fs::path& path,
                 const FieldSet& fields, const std::vector<std::string>& excluded,
                 const std::shared_ptr<EntryMemory>& memory)
      : payloads_(payloads),
        file_(file),
        scan_(path, payloads.fd(file), payloads.spool()),
        fields_(fields),
        excluded_(excluded),
        images_(memory) {
    contents_.images = EntryTable(memory);
  }

  SourceContents run() {
    while (scan_.next()) take(scan_.member());
    payloads_.seal();
    payloads_.done_with(file_);
    images_.sort_by_path();
    resolve_links();
    drop_replaced();
    attach_fields();
    for (const std::string& path : passed_over_)
      skip(path, naming::passed_over(naming::last_name(path)));
    contents_.folders.assign(folders_.begin(), folders_.end());
    return std::move(contents_);
  }

 private:
  struct Link {
    std::string path, target;
    std::uint64_t before;  ///< only images with a lower locator come before the link
  };
  struct Companion {
    std::uint64_t locator;
    std::uint32_t bytes;
    bool taken;
  };

  void take(const Member& member) {
    const bool folder = member.type == Member::Type::kDirectory;
    const std::optional<std::string> path = naming::clean_path(member.name);
    if (!path) {
      if (!folder) contents_.outside.push_back({member.name, {Reason::kBadPath, kLeaves}});
      return;
    }
    // One skip covers the member and all that is in it, as in a folder on disk.
    if (const std::string_view over = naming::passed_over_in(*path); !over.empty()) {
      folders_.emplace(naming::directory_of(over));
      passed_over_.emplace(over);
      return;
    }
    if (naming::is_too_deep(*path)) {
      if (!folder) contents_.outside.push_back({member.name, Reason::kTooDeep});
      return;
    }
    folders_.emplace(folder ? *path : naming::directory_of(*path));
    if (folder) return;
    if (member.type == Member::Type::kHardLink) {
      links_.push_back({*path, naming::clean_path(member.link).value_or(""), payloads_.size()});
    } else if (member.type == Member::Type::kOther) {
      skip(*path, naming::kNotRegular);
    } else {
      take_file(member, *path);
    }
  }

  void take_file(const Member& member, const std::string& path) {
    const bool array = naming::has_npy_name(path);
    const bool image_name = array || naming::has_any_image_name(path);
    try {
      if (fields_.may_be_elsewhere(path)) {
        const std::uint64_t locator = payloads_.add(file_, scan_.keep());
        return contents_.field_files.push_back({path, member.size, 0, locator});
      }
      if (!image_name && has_archive_name(path)) {
        if (!scan_.enter())
          reject(path, {Reason::kUnsupported, "an archive in the archive that is not read"});
        return;
      }
      const bool image = image_name || (member.problem.empty() && looks_like_image());
      const bool field = fields_.may_be_beside(path);
      if (!field && (!image || (array && pictures_))) return skip(path, naming::kNotAnImage);
      if (!array && !field && !matches_any(excluded_, path)) pictures_ = true;
      const std::uint64_t locator = payloads_.add(file_, scan_.keep());
      if (image) add_image(path, member.size, locator);
      if (field) {
        companions_[path] = {locator, static_cast<std::uint32_t>(member.size), false};
        field_files_.push_back(path);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kRejected) throw;
      reject(path, problem_of(error, Reason::kUnreadable));
    }
  }

  bool looks_like_image() { return naming::has_image_bytes(scan_.head()); }

  void add_image(std::string_view path, std::uint64_t size, std::uint64_t locator) {
    const auto [directory, name] = directory_and_name(path);
    images_.add(directory, name,
                {.size = size, .stamp = payloads_.stamp(file_), .locator = locator});
  }

  void skip(const std::string& path, std::string_view rule) {
    contents_.others.push_back({path, rule, {}});
  }
  void reject(const std::string& path, Problem problem) {
    contents_.others.push_back({path, {}, std::move(problem)});
  }

  /// The image at that path with the highest locator below `before`.
  std::optional<std::size_t> find_image(const std::string& path, std::uint64_t before) const {
    std::size_t low = 0, high = images_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (images_.path_of(middle) < path) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::optional<std::size_t> found;
    for (; low < images_.size() && images_.path_of(low) == path; ++low) {
      const std::uint64_t locator = images_.facts(low).locator;
      if (locator < before && (!found || locator > images_.facts(*found).locator)) found = low;
    }
    return found;
  }

  /// The field file that a link to one means; fields may be links, images may not be fields.
  std::optional<EntryTable::Facts> field_before(const Link& link) const {
    if (!fields_.may_be_elsewhere(link.path)) return std::nullopt;
    std::optional<EntryTable::Facts> found;
    for (const FieldFile& file : contents_.field_files) {
      if (file.path == link.target && file.locator < link.before)
        found = EntryTable::Facts{.size = file.size, .locator = file.locator};
    }
    return found;
  }

  /// Makes each hard link another image with the bytes of its target.
  void resolve_links() {
    std::unordered_map<std::string, std::pair<std::uint64_t, std::uint64_t>> done;
    std::vector<std::pair<std::string, EntryTable::Facts>> more;
    for (const Link& link : links_) {
      std::optional<EntryTable::Facts> target = field_before(link);
      if (const auto image = find_image(link.target, link.before)) target = images_.facts(*image);
      if (const auto earlier = done.find(link.target); !target && earlier != done.end()) {
        target.emplace();
        target->size = earlier->second.first;
        target->locator = earlier->second.second;
      }
      const bool image =
          naming::has_any_image_name(link.path) || (naming::has_npy_name(link.path) && !pictures_);
      if (!target && !image) {
        skip(link.path, naming::kNotAnImage);
      } else if (!target) {
        reject(link.path,
               {Reason::kNotThere, "a hard link to '" + printable(link.target) +
                                       "', and no image of that path comes before it in the "
                                       "archive"});
      } else if (fields_.may_be_elsewhere(link.path)) {
        contents_.field_files.push_back(
            {link.path, target->size, 0, payloads_.add_again(target->locator)});
      } else {
        const std::uint64_t locator = payloads_.add_again(target->locator);
        done[link.path] = {target->size, locator};
        more.push_back({link.path, {.size = target->size, .locator = locator}});
      }
    }
    for (const auto& [path, facts] : more) add_image(path, facts.size, facts.locator);
    if (!more.empty()) images_.sort_by_path();
  }

  /// Keeps the last of several files with one name, as tar does, and names the others as rejects.
  void drop_replaced() {
    EntryTable kept(images_.memory());
    for (std::size_t begin = 0, end = 0; begin < images_.size(); begin = end) {
      std::size_t last = begin;
      const std::string path = images_.path_of(begin);
      for (end = begin + 1; end < images_.size() && images_.path_of(end) == path; ++end) {
        if (images_.facts(end).locator > images_.facts(last).locator) last = end;
      }
      for (std::size_t i = begin + 1; i < end; ++i) reject(path, {Reason::kRepeated, kReplaced});
      kept.add_from(images_, last);
    }
    images_ = std::move(kept);
  }

  void attach_fields() {
    if (companions_.empty()) {
      contents_.images = std::move(images_);
      return;
    }
    std::vector<bool> is_field(payloads_.size());
    for (const auto& [path, companion] : companions_) is_field[companion.locator] = true;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (is_field[images_.facts(i).locator]) continue;
      const std::string path = images_.path_of(i);
      const auto [directory, name] = directory_and_name(path);
      const std::optional<EntryTable::Facts> facts = with_fields(i);
      if (facts) {
        contents_.images.add(directory, name, *facts);
      } else {
        reject(path, Reason::kFieldsTooLarge);
      }
    }
    for (const std::string& path : field_files_) {
      if (!companions_.at(path).taken) skip(path, naming::kFieldAlone);
    }
  }

  /// Nothing when its fields are too large.
  std::optional<EntryTable::Facts> with_fields(std::size_t i) {
    EntryTable::Facts facts = images_.facts(i);
    bool fit = true;
    const std::string path = images_.path_of(i);
    std::vector<Payloads::Field> found;
    for (std::uint32_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].place) continue;
      const auto companion = companions_.find(field_file(path, fields_[f].name));
      if (companion == companions_.end()) continue;
      companion->second.taken = true;
      found.push_back({f, companion->second.bytes, companion->second.locator});
      fit = facts.add_field(f, companion->second.bytes) && fit;
    }
    if (!fit) return std::nullopt;
    if (!found.empty()) payloads_.set_fields(facts.locator, found);
    return facts;
  }

  Payloads& payloads_;
  const std::uint32_t file_;
  ArchiveScan scan_;
  const FieldSet& fields_;
  const std::vector<std::string>& excluded_;
  bool pictures_ = false;  ///< there have been images that are no NumPy files
  SourceContents contents_;
  EntryTable images_;
  std::set<std::string, std::less<>> folders_;
  std::set<std::string, std::less<>> passed_over_;  ///< files and folders, hidden or junk
  std::vector<Link> links_;
  std::unordered_map<std::string, Companion> companions_;  ///< by path
  std::vector<std::string> field_files_;                   ///< paths of companions_, with repeats
};

}  // namespace

SourceContents read_contents(Payloads& payloads, std::uint32_t file, const fs::path& path,
                             const FieldSet& fields, const std::vector<std::string>& excluded,
                             const std::shared_ptr<EntryMemory>& memory) {
  return ContentsReader(payloads, file, path, fields, excluded, memory).run();
}

}  // namespace packhorse

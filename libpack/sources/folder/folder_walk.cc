#include "sources/folder/folder_walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "listing/field_names.h"
#include "listing/listed_file.h"
#include "listing/names.h"
#include "packhorse/base/file.h"
#include "packhorse/base/printable.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

namespace {

using naming::has_any_image_name;
using naming::join;
using Type = FolderItems::Type;

}  // namespace

bool looks_like_image(int folder, const char* name) {
  const UniqueFd fd = open_at(folder, name, O_RDONLY | O_NONBLOCK);
  std::array<std::byte, kSniffedBytes> head{};
  const ssize_t n =
      fd ? uninterrupted([&] { return ::read(fd.get(), head.data(), head.size()); }) : -1;
  if (n < 0) return true;
  return naming::has_image_bytes(Bytes(head).first(static_cast<std::size_t>(n)));
}

std::optional<FolderId> FolderWalk::folder(int parent, const std::string& name,
                                           const std::string& path, std::int64_t label) {
  const auto unreadable = [&](int error) {
    out_.rejects.push_back(
        {printable(path), std::string("unreadable folder: ") + std::strerror(error)});
  };
  const UniqueFd fd = open_at(parent, name.c_str(), O_RDONLY | O_DIRECTORY);
  const std::optional<FolderId> id = fd ? folder_id(fd.get()) : std::nullopt;
  if (!id) {
    unreadable(errno);
    return std::nullopt;
  }
  if (!above_.insert(*id).second) {  // mounted below itself, or moved there since it was listed
    out_.skips.push_back({printable(path), naming::kLoop});
    return std::nullopt;
  }
  FolderItems items(fd.get(), above_, threads_);
  items.look_at_files(fd.get(), threads_);
  if (items.error() != 0) unreadable(items.error());
  files(fd.get(), items, path, label);
  for (const std::string& below : items.folders())
    folder(fd.get(), below, join(path, below), label);
  above_.erase(*id);
  return id;
}

void FolderWalk::outside(int fd, FolderItems& items, const std::string& path, std::string_view rule,
                         const std::function<bool(const std::string&)>& left_alone) {
  if (fields_.any_elsewhere()) items.look_at_files(fd, threads_);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string below = join(path, items.name(i));
    const auto skip = [&](std::string_view by) { out_.skips.push_back({printable(below), by}); };
    if (items[i].type == Type::kPassedOver) {
      skip(naming::passed_over(items.name(i)));
    } else if (items[i].type == Type::kLoop) {
      skip(naming::kLoop);
    } else if (items[i].type != Type::kDirectory) {
      if (!left_alone(below) && !take_field_file(items, i, below)) skip(rule);
    } else if (!left_alone(below)) {
      const UniqueFd folder = open_at(fd, items.c_name(i), O_RDONLY | O_DIRECTORY);
      const std::optional<FolderId> id = folder ? folder_id(folder.get()) : std::nullopt;
      if (!id) {
        out_.unreadable.emplace(below, std::strerror(errno));
        skip(rule);
      } else if (!above_.insert(*id).second) {
        skip(naming::kLoop);
      } else {
        FolderItems inside(folder.get(), above_, threads_);
        outside(folder.get(), inside, below, rule, left_alone);
        if (inside.error() != 0) out_.unreadable.emplace(below, std::strerror(inside.error()));
        above_.erase(*id);
      }
    }
  }
}

void FolderWalk::files(int fd, const FolderItems& items, const std::string& path,
                       std::int64_t label) {
  std::vector<Verdict> verdicts(items.size(), Verdict::kNone);
  for (std::size_t i = 0; i < items.size(); ++i) verdicts[i] = judge(fd, items, i, path);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (verdicts[i] != Verdict::kEntry) continue;
    EntryTable::Facts facts{
        .size = items[i].size, .stamp = items[i].stamp, .locator = items[i].inode, .label = label};
    if (!take_fields(items, i, verdicts, facts)) {
      out_.rejects.push_back(
          {printable(join(path, items.name(i))), "its extra fields have more than 4 GiB together"});
      continue;
    }
    out_.entries.add(path, items.name(i), facts);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (verdicts[i] == Verdict::kField)
      out_.skips.push_back({printable(join(path, items.name(i))), naming::kFieldAlone});
  }
}

/// Records skips and rejects. A field's verdict stays open until all images are known, since only
/// then is it known whose field it is.
FolderWalk::Verdict FolderWalk::judge(int fd, const FolderItems& items, std::size_t i,
                                      const std::string& path) {
  const FolderItems::Item& item = items[i];
  const std::string_view name = items.name(i);
  const auto skip = [&](const char* rule) {
    out_.skips.push_back({printable(join(path, name)), rule});
    return Verdict::kNone;
  };
  if (item.type == Type::kDirectory) return Verdict::kNone;
  if (item.type == Type::kPassedOver) return skip(naming::passed_over(name));
  if (item.type == Type::kLoop) return skip(naming::kLoop);
  if (item.type == Type::kOther) return skip(naming::kNotRegular);
  if (take_field_file(items, i, join(path, name))) return Verdict::kNone;
  if (fields_.may_be_beside(name)) return Verdict::kField;
  if (item.type == Type::kFile) {
    if (has_any_image_name(name) || looks_like_image(fd, items.c_name(i))) return Verdict::kEntry;
    return skip(naming::kNotAnImage);
  }
  const bool leads_nowhere = item.error == ENOENT || item.error == ELOOP;
  if (leads_nowhere && !has_any_image_name(name)) return skip(naming::kNotAnImage);
  out_.rejects.push_back({printable(join(path, name)),
                          leads_nowhere ? "a link that leads nowhere"
                                        : std::string("unreadable: ") + std::strerror(item.error)});
  return Verdict::kNone;
}

/// Keeps a file that may be the field of an image elsewhere. A link that leads nowhere is kept,
/// too: reading it fails, and the sample is rejected by name.
bool FolderWalk::take_field_file(const FolderItems& items, std::size_t i, const std::string& path) {
  const FolderItems::Item& item = items[i];
  if (!fields_.any_elsewhere() || (item.type != Type::kFile && item.type != Type::kBroken))
    return false;
  std::string full = join(origin_, path);
  if (!fields_.may_be_elsewhere(full)) return false;
  out_.field_files.push_back({std::move(full), item.size, item.stamp});
  return true;
}

/// Returns false when the fields are too large.
bool FolderWalk::take_fields(const FolderItems& items, std::size_t image,
                             std::vector<Verdict>& verdicts, EntryTable::Facts& facts) const {
  std::uint64_t bytes = 0;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].place) continue;
    const auto found = items.find(field_file(items.name(image), fields_[f].name));
    if (!found || (verdicts[*found] != Verdict::kField && verdicts[*found] != Verdict::kTaken))
      continue;
    // A link that leads nowhere is taken, too: reading it fails, and the sample is rejected by
    // name.
    const FolderItems::Item& item = items[*found];
    verdicts[*found] = Verdict::kTaken;
    facts.fields |= std::uint32_t{1} << f;
    bytes += item.size;
    facts.stamp =
        mix_stamp(mix_stamp(facts.stamp, static_cast<std::uint64_t>(item.stamp)), item.size);
  }
  facts.field_bytes = static_cast<std::uint32_t>(bytes);
  return bytes == facts.field_bytes;
}

}  // namespace packhorse

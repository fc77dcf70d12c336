#include "archives.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <stdexcept>

namespace packhorse::fuzz {

namespace {

constexpr std::size_t kRoom = 1 << 20;

struct Free {
  void operator()(archive* handle) const { archive_write_free(handle); }
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

void check(archive* handle, int code) {
  if (code < ARCHIVE_WARN) throw std::runtime_error(archive_error_string(handle));
}

void add(archive* handle, const ArchiveMember& member) {
  using Type = ArchiveMember::Type;
  const std::unique_ptr<archive_entry, Free> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), member.name.c_str());
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_filetype(entry.get(), member.type == Type::kDirectory ? AE_IFDIR
                                          : member.type == Type::kLink    ? AE_IFLNK
                                                                          : AE_IFREG);
  const bool file = member.type == Type::kFile;
  archive_entry_set_size(entry.get(), file ? static_cast<la_int64_t>(member.content.size()) : 0);
  if (member.type == Type::kLink) archive_entry_set_symlink(entry.get(), member.content.c_str());
  if (member.type == Type::kHardLink)
    archive_entry_set_hardlink(entry.get(), member.content.c_str());
  check(handle, archive_write_header(handle, entry.get()));
  if (file) archive_write_data(handle, member.content.data(), member.content.size());
}

}  // namespace

std::string make_archive(const std::vector<ArchiveMember>& members, const std::string& format,
                         const std::string& filter) {
  const std::unique_ptr<archive, Free> handle(archive_write_new());
  check(handle.get(), archive_write_set_format_by_name(handle.get(), format.c_str()));
  if (filter != "none")
    check(handle.get(), archive_write_add_filter_by_name(handle.get(), filter.c_str()));
  // Level 0 makes readers allocate a dictionary of 256 KiB; the default level 8 MiB.
  if (filter == "xz")
    check(handle.get(), archive_write_set_options(handle.get(), "xz:compression-level=0"));
  archive_write_set_bytes_per_block(handle.get(), 512);
  archive_write_set_bytes_in_last_block(handle.get(), 1);
  std::string bytes(kRoom, '\0');
  std::size_t used = 0;
  check(handle.get(), archive_write_open_memory(handle.get(), bytes.data(), bytes.size(), &used));
  for (const ArchiveMember& member : members) add(handle.get(), member);
  check(handle.get(), archive_write_close(handle.get()));
  bytes.resize(used);
  return bytes;
}

}  // namespace packhorse::fuzz

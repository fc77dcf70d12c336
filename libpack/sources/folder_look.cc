#include "sources/folder_look.h"

#include <set>

#include "base/paths.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t kMostOpen = 16;  // folders
}  // namespace

void FolderLook::look_in(const fs::path& path,
                         const std::function<bool(const fs::directory_entry&)>& look) {
  if (kept_ >= most_kept_ && !folders_.contains(path.native()))
    return packhorse::look_in(path, look);
  Folder& folder = folders_[path.native()];
  for (std::size_t i = 0; i < folder.entries.size(); ++i)
    if (!look(folder.entries[i])) return;
  read_on(path, folder, look);
}

/// Reads the entries that nobody has seen yet.
void FolderLook::read_on(const fs::path& path, Folder& folder,
                         const std::function<bool(const fs::directory_entry&)>& look) {
  std::error_code code;
  if (!folder.next) folder.next.emplace(path, code);
  if (folder.open) --open_;
  folder.open = false;
  const auto forget = [&] {
    kept_ -= folder.entries.size();
    folders_.erase(path.native());
  };
  bool all_kept = true;
  while (!code && *folder.next != fs::directory_iterator()) {
    const fs::directory_entry entry = **folder.next;
    if (kept_ < most_kept_) {
      folder.entries.push_back(entry);
      ++kept_;
    } else {
      all_kept = false;
    }
    const bool go_on = look(entry);
    folder.next->increment(code);
    if (go_on) continue;
    if (code || !all_kept || open_ == kMostOpen) return forget();
    folder.open = true;
    ++open_;
    return;
  }
  if (!code && all_kept) return;
  forget();
  if (!code) return;
  if (code != std::errc::interrupted) throw_code(code, "list", path);
  packhorse::look_in(path, look);
}

std::vector<std::string> FolderLook::names_in(const fs::path& folder, bool folders) {
  std::set<std::string> names;
  std::error_code code;
  const fs::file_status status = fs::status(folder, code);
  if (status.type() == fs::file_type::none) throw_code(code, "list", folder);
  if (!fs::is_directory(status)) return {};
  look_in(folder, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().native();
    if (naming::passed_over(name) == nullptr &&
        (folders ? entry.is_directory(code) : entry.is_regular_file(code)))
      names.insert(name);
    return true;
  });
  return {names.begin(), names.end()};
}

std::vector<std::string> FolderLook::files_in(const fs::path& folder) {
  return names_in(folder, false);
}
std::vector<std::string> FolderLook::folders_in(const fs::path& folder) {
  return names_in(folder, true);
}

bool FolderLook::holds_image_names(const fs::path& folder) {
  bool found = false;
  look_in(folder, [&](const fs::directory_entry& entry) {
    found = naming::has_image_name(entry.path().filename().native());
    return !found;
  });
  return found;
}

}  // namespace packhorse

#include "sources/annotated/annotated_folder.h"

#include <set>

#include "base/directory_look.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/kinds.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder, bool folders) {
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

}  // namespace

AnnotatedFolder::AnnotatedFolder(const fs::path& root)
    : folder_(kFolderSource.open(root)), root_(root) {}

void AnnotatedFolder::refuse_others(const ListOptions& options) const {
  const bool fields = options.fields.names && !options.fields.names->empty();
  if (options.labels.empty() && !options.split_folders && !fields &&
      options.fields.places.empty() && options.classes.size() < 2)
    return;
  throw Error(ErrorKind::kUsage,
              "this layout says itself where images, splits and annotations lie: `labels=`, "
              "`split_folders=` and fields would change nothing",
              root_, "leave them out, or give `source_kind=folder`");
}

std::vector<std::string> files_in(const fs::path& folder) { return names_in(folder, false); }
std::vector<std::string> folders_in(const fs::path& folder) { return names_in(folder, true); }

bool holds_image_names(const fs::path& folder) {
  bool found = false;
  look_in(folder, [&](const fs::directory_entry& entry) {
    found = naming::has_image_name(entry.path().filename().native());
    return !found;
  });
  return found;
}

}  // namespace packhorse

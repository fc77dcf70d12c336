#include "sources/annotated/annotated_folder.h"

#include <set>

#include "base/paths.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/kinds.h"

namespace packhorse {

namespace fs = std::filesystem;

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

}  // namespace packhorse

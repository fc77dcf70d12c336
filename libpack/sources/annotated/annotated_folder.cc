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

void refuse_places(const ListOptions& options, const std::string& what, const fs::path& source,
                   const std::string& advice) {
  const bool fields = options.fields.names && !options.fields.names->empty();
  if (options.labels.empty() && !options.split_folders && !fields &&
      options.fields.places.empty() && options.classes.size() < 2)
    return;
  throw Error(ErrorKind::kUsage,
              what + ": `labels=`, `split_folders=` and fields would change nothing", source,
              advice);
}

}  // namespace packhorse

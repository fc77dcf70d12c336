#include "sources/objects/fetched_archive.h"

#include <stdlib.h>

#include "dataset/copied_file.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "sources/archive/source_archive.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

fs::path make_folder(const fs::path& scratch) {
  const char* const given = ::getenv("TMPDIR");
  const fs::path place =
      !scratch.empty() ? scratch : (given != nullptr && *given != '\0' ? given : "/tmp");
  std::string name = (place / "packhorse-archive-XXXXXX").native();
  if (::mkdtemp(name.data()) == nullptr) throw_errno("create a directory", name);
  return name;
}

}  // namespace

FetchedArchive::~FetchedArchive() {
  archive_.reset();
  if (folder_.empty()) return;
  try {
    remove_tree(folder_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a name in it shows what it is
  }
}

Listing FetchedArchive::list(const ListOptions& options) {
  folder_ = make_folder(options.scratch);
  const DatasetDirectory above(url_.parent_path());
  const std::string name = url_.filename();
  const fs::path copy = folder_ / name;
  copy_from_afar(above, name, above.size(name), copy, {});
  archive_ = archive_file::open(copy);
  return archive_->list(options);
}

}  // namespace packhorse

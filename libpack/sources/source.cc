#include "packhorse/sources/source.h"

#include <array>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "sources/archive/source_archive.h"
#include "sources/arrays/source_arrays.h"
#include "sources/folder/source_folder.h"
#include "sources/list/source_list.h"
#include "sources/packed/source_packed.h"
#include "sources/unread_files.h"
#include "sources/webdataset/shard_names.h"
#include "sources/webdataset/source_webdataset.h"

namespace packhorse {

namespace fs = std::filesystem;

void refuse(const Doubt& doubt, const fs::path& source) {
  throw Error(ErrorKind::kUsage, doubt.what, source, doubt.advice);
}

std::span<const SourceKind> all_sources() {
  static constexpr std::array kSources = {kPackedSource,  kWebDatasetSource, kArraysSource,
                                          kArchiveSource, kListSource,       kFolderSource};
  return kSources;
}

std::unique_ptr<Source> open_source(const fs::path& path, std::string_view wanted) {
  refuse_url(path.native());
  std::error_code code;
  if (!fs::exists(path, code) && !is_shard_pattern(path)) {
    throw Error(ErrorKind::kNotFound, "the source does not exist", path, "check the path");
  }
  std::string kinds, names;
  for (const SourceKind& kind : all_sources()) {
    // A folder is a source whatever it holds, so what holds none that can be read is told before.
    if (wanted.empty() && kind.name == kFolderSource.name) refuse_unread_files(path);
    if (wanted.empty() ? kind.probe(path) : kind.name == wanted) return kind.open(path);
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.summary);
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  if (!wanted.empty()) {
    throw Error(ErrorKind::kUsage, "there is no kind of source '" + std::string(wanted) + "'", {},
                "choose one of: " + names);
  }
  throw Error(ErrorKind::kUnsupported, "packhorse cannot read the source", path,
              "give one of these: " + kinds);
}

}  // namespace packhorse

#include "sources/objects/fetched_archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "dataset/copied_file.h"
#include "dataset/dataset_directory.h"
#include "dataset/url.h"
#include "packhorse/base/error.h"
#include "sources/kinds.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Gives the copy a time that differs when the archive has changed, as the source's stamps are made
/// of it.
void set_time(const fs::path& copy, std::uint64_t stamp) {
  const timespec time = {static_cast<time_t>(stamp & 0x7FFFFFFF),
                         static_cast<long>(stamp >> 31 & 0x1FFFFFFF)};
  const timespec both[] = {time, time};
  if (::utimensat(AT_FDCWD, copy.c_str(), both, 0) != 0) throw_errno("date", copy);
}

}  // namespace

Listing FetchedArchive::list(const ListOptions& options) {
  if (!options.scratch.empty()) make_directories(options.scratch);
  folder_.emplace("archive", options.scratch);
  const DatasetDirectory above(url_.parent_path());
  const std::string name = fs::path(parse_url(url_.native()).path).filename();
  const fs::path copy = folder_->path() / name;
  const std::string sum = copy_from_afar(above, name, above.size(name), copy);
  set_time(copy, xxh3(as_bytes(sum)));
  archive_ = archive_file::open(copy);
  return archive_->list(options);
}

}  // namespace packhorse

#include "packhorse/source.h"

#include <array>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "sources/shard_names.h"
#include "sources/source_archive.h"
#include "sources/source_folder.h"
#include "sources/source_list.h"
#include "sources/source_packed.h"
#include "sources/source_webdataset.h"

namespace packhorse {

namespace fs = std::filesystem;

void refuse(const Doubt& doubt, const fs::path& source) {
  throw Error(ErrorKind::kUsage, doubt.what, source, doubt.advice);
}

std::uint64_t Listing::seen() const {
  std::uint64_t total = skips.size();
  for (const SplitListing& split : splits) {
    total += split.entries.size() + split.rejects.size() + split.skips.size();
  }
  return total;
}

std::map<std::string, std::uint64_t> count_by_rule(const std::vector<Skip>& skips) {
  std::map<std::string, std::uint64_t> counts;
  for (const Skip& skip : skips) ++counts[std::string(skip.rule)];
  return counts;
}

std::span<const SourceKind> all_sources() {
  static constexpr std::array kSources = {kPackedSource, kWebDatasetSource, kArchiveSource,
                                          kListSource, kFolderSource};
  return kSources;
}

std::unique_ptr<Source> open_source(const fs::path& path, std::string_view wanted) {
  refuse_url(path.native());
  std::error_code code;
  if (!fs::exists(path, code) && !is_shard_pattern(path)) {
    throw Error(ErrorKind::kNotFound, "the source is not there", path, "check the path");
  }
  std::string kinds, names;
  for (const SourceKind& kind : all_sources()) {
    if (wanted.empty() ? kind.probe(path) : kind.name == wanted) return kind.open(path);
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.summary);
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  if (!wanted.empty()) {
    throw Error(ErrorKind::kUsage, "there is no kind of source '" + std::string(wanted) + "'", {},
                "choose one of: " + names);
  }
  throw Error(ErrorKind::kUnsupported, "the source is nothing packhorse can read", path,
              "give it one of these: " + kinds);
}

}  // namespace packhorse

#include <openssl/crypto.h>
#include <tbb/version.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "base/choices.h"
#include "formats/foreign_shard.h"
#include "formats/format.h"
#include "formats/kinds.h"
#include "formats/library_versions.h"
#include "formats/wds/wds.h"
#include "packhorse/base/error.h"

namespace packhorse {

std::span<const Format* const> all_formats() {
  static constexpr std::array kFormats = {&wds::kFormat, &lmdb::kDatumFormat, &lmdb::kMembersFormat,
                                          &hdf5::kFormat};
  return kFormats;
}

std::span<const ForeignFormat* const> foreign_formats() {
  static constexpr std::array<const ForeignFormat*, 3> kFormats = {
      &wds::kForeignFormat, &lmdb::kForeignFormat, &hdf5::kForeignFormat};
  return kFormats;
}

const Format& find_format(std::string_view name) {
  std::vector<std::string> names;
  for (const Format* format : all_formats()) {
    if (format->name == name) return *format;
    names.emplace_back(format->name);
  }
  const std::string quoted = std::string(name);
  throw Error(ErrorKind::kUsage,
              find_foreign_format(name) == nullptr
                  ? "there is no format '" + quoted + "'"
                  : "the format " + quoted +
                        " is a foreign format, which packhorse reads but does not write",
              {}, choice_advice(name, names));
}

const ForeignFormat* find_foreign_format(std::string_view name) {
  const auto formats = foreign_formats();
  const auto found = std::ranges::find_if(
      formats, [&](const ForeignFormat* format) { return format->name == name; });
  return found == formats.end() ? nullptr : *found;
}

const ExportedIndexes* exported_indexes_of(std::string_view format) {
  const ForeignFormat* foreign = find_foreign_format(format);
  return foreign != nullptr ? foreign->exported_indexes : find_format(format).exported_indexes;
}

std::vector<std::pair<std::string, std::string>> library_versions() {
  std::vector<std::pair<std::string, std::string>> versions;
  for (const Format* format : all_formats())
    versions.emplace_back(format->name, format->library_version());
  versions.emplace_back("openssl", OpenSSL_version(OPENSSL_VERSION));
  versions.emplace_back("tbb", TBB_runtime_version());
  const unsigned xxhash = XXH_versionNumber();
  versions.emplace_back("xxhash", std::to_string(xxhash / 10000) + "." +
                                      std::to_string(xxhash / 100 % 100) + "." +
                                      std::to_string(xxhash % 100));
  return versions;
}

}  // namespace packhorse

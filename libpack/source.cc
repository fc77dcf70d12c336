#include "packhorse/source.h"

#include <algorithm>
#include <array>
#include <limits>

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

std::string as_utf8(std::string_view name) {
  // Length of the well-formed sequence at a place, 0 if there is none: RFC 3629, section 4.
  const auto sequence = [&](std::size_t at) -> std::size_t {
    const auto byte = [&](std::size_t i) {
      return i < name.size() ? static_cast<unsigned char>(name[i]) : 0u;
    };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    for (std::size_t i = 1; i < length; ++i) {
      if (byte(at + i) < 0x80 || byte(at + i) > 0xbf) return 0;
    }
    const bool overlong =
        (lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xf0 && byte(at + 1) < 0x90);
    const bool outside =
        (lead == 0xed && byte(at + 1) > 0x9f) || (lead == 0xf4 && byte(at + 1) > 0x8f);
    return overlong || outside ? 0 : length;
  };
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = sequence(at);
    if (length > 0) {
      text += name.substr(at, length);
    } else {
      static constexpr char kDigits[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(name[at]);
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

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

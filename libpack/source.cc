#include "packhorse/source.h"

#include <algorithm>
#include <array>
#include <limits>

#include "packhorse/error.h"
#include "shard_names.h"
#include "source_archive.h"
#include "source_folder.h"
#include "source_webdataset.h"

namespace packhorse {

namespace fs = std::filesystem;

void EntryTable::add(std::string_view directory, std::string_view name, const Facts& facts) {
  if (directories_.empty() || directories_.back() != directory)
    directories_.emplace_back(directory);
  records_.push_back({facts.size, facts.stamp, facts.locator, names_.size(),
                      static_cast<std::uint32_t>(directories_.size() - 1),
                      static_cast<std::int32_t>(facts.label),
                      static_cast<std::uint32_t>(name.size()), facts.field_bytes, facts.fields});
  names_ += name;
}

void EntryTable::add_from(const EntryTable& other, std::size_t i) {
  const Record& record = other.records_[i];
  add(other.directories_[record.directory],
      std::string_view(other.names_).substr(record.name, record.name_length), other.facts(i));
}

EntryTable::Facts EntryTable::facts(std::size_t i) const {
  const Record& record = records_[i];
  return {record.size,  record.stamp,       record.locator,
          record.label, record.field_bytes, record.fields};
}

std::string EntryTable::path_of(std::size_t i) const {
  const Record& record = records_[i];
  const std::string& directory = directories_[record.directory];
  std::string path;
  path.reserve(directory.size() + 1 + record.name_length);
  path += directory;
  if (!path.empty()) path += '/';
  path.append(names_, record.name, record.name_length);
  return path;
}

EntryTable::Entry EntryTable::operator[](std::size_t i) const { return {facts(i), path_of(i)}; }

void EntryTable::sort_by_path() {
  // Directories differ or are the same object, so comparing "dir/name" rarely needs the joined
  // string.
  std::sort(records_.begin(), records_.end(), [this](const Record& a, const Record& b) {
    const std::string_view name_a(names_.data() + a.name, a.name_length);
    const std::string_view name_b(names_.data() + b.name, b.name_length);
    if (a.directory == b.directory) return name_a < name_b;
    const auto path = [this](const Record& record, std::string_view name) {
      const std::string& directory = directories_[record.directory];
      return directory.empty() ? std::string(name) : directory + '/' + std::string(name);
    };
    return path(a, name_a) < path(b, name_b);
  });
}

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
  static constexpr std::array kSources = {kWebDatasetSource, kArchiveSource, kFolderSource};
  return kSources;
}

std::unique_ptr<Source> open_source(const fs::path& path, std::string_view wanted) {
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

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "dataset/shard_index.h"
#include "formats/wds/layout.h"
#include "formats/wds/wds.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse::wds {

namespace {

using Json = nlohmann::ordered_json;

bool has_blank(std::string_view name) {
  return name.find_first_of(" \t\n\v\f\r") != std::string_view::npos;
}

/// The text that wds2idx writes: "v1.2 <samples>", then a line for each sample with the extension,
/// offset, size and name of each member, separated by blanks. Version 1.1 has no names.
class DaliIndex {
 public:
  DaliIndex(const ExportedIndexOptions& options, const ShardRecord& record,
            const ExportedIndexes::Out& out)
      : names_(options.dali_version == "1.2"), record_(record), out_(out) {
    if (options.dali_version != "1.1" && options.dali_version != "1.2") {
      throw Error(ErrorKind::kUsage,
                  "there is no version '" + options.dali_version + "' of DALI's index", {},
                  "choose 1.1 or 1.2");
    }
    out_(fmt::format("v{} {}\n", options.dali_version, record.samples));
  }

  void add(std::string_view name, ByteRange data) {
    const std::optional<MemberName> cut = cut_member_name(name);
    // wds2idx passes over hidden files: those whose key ends with the directory.
    if (!cut || cut->key.ends_with('/') || is_meta_name(name)) return;
    // Keeps the case: DALI compares extensions with those asked for, byte by byte.
    const std::string_view extension = name.substr(cut->key.size() + 1);
    if (extension.empty() || has_blank(name)) {
      throw Error(ErrorKind::kUnsupported,
                  "DALI's index cannot hold a name with a space or an empty extension",
                  record_.file, "rename the member", std::string(name));
    }
    piece_.clear();
    if (samples_ == 0 || cut->key != key_) {
      if (samples_ > 0) piece_ += '\n';
      key_ = cut->key;
      ++samples_;
    } else {
      piece_ += ' ';
    }
    fmt::format_to(std::back_inserter(piece_), "{} {} {}", extension, data.offset, data.length);
    if (names_) (piece_ += ' ') += name;
    out_(piece_);
  }

  void finish() {
    if (samples_ != record_.samples) {
      throw Error(ErrorKind::kCorrupt,
                  fmt::format("the shard holds {} samples by WebDataset's rule, but its index {}",
                              samples_, record_.samples),
                  record_.file, "run `inspect(verify=full)` on the dataset");
    }
    out_("\n");
  }

 private:
  bool names_;
  const ShardRecord& record_;
  const ExportedIndexes::Out& out_;
  std::string key_, piece_;
  std::uint64_t samples_ = 0;
};

std::string name_of_shard(const ShardRecord& record) {
  std::string_view stem = record.file;
  if (stem.ends_with(kSuffix)) stem.remove_suffix(kSuffix.size());
  return std::string(stem) + ".idx";
}

/// Keys of our own shards have no blanks in them.
std::string why_not(const std::vector<std::string>& fields) {
  const auto bad = std::ranges::find_if(fields, has_blank);
  if (bad == fields.end()) return {};
  return "DALI's index cannot hold the blank in the name of the field '" + printable(*bad) + "'";
}

void of_own_shard(const ShardRecord& record, const ShardIndex& index,
                  const ExportedIndexOptions& options, const ExportedIndexes::Out& out) {
  DaliIndex dali(options, record, out);
  visit_members_by_index(index,
                         [&](std::string_view name, ByteRange data) { dali.add(name, data); });
  dali.finish();
}

void of_shard(int fd, const std::filesystem::path& data_file, const ShardRecord& record,
              const ExportedIndexOptions& options, const ExportedIndexes::Out& out) {
  DaliIndex dali(options, record, out);
  visit_members_by_headers(fd, data_file,
                           [&](std::string_view name, ByteRange data) { dali.add(name, data); });
  dali.finish();
}

/// The text that widsindex writes, except "md5sum", which no part of wids looks at and which would
/// need every payload once more.
std::string wids_text(const Manifest& manifest) {
  Json shards = Json::array();
  for (const ShardRecord& shard : manifest.shards)
    shards.push_back({{"url", shard.file}, {"nsamples", shard.samples}, {"filesize", shard.bytes}});
  Json json = {{"__kind__", "wids-shard-index-v1"}, {"wids_version", 1}, {"shardlist", shards}};
  if (!manifest.split.empty()) json["name"] = manifest.split;
  return json.dump(2) + "\n";
}

/// A dataset without splits becomes timm's default split, "train".
std::string timm_text(const Manifest& manifest) {
  const std::string split = manifest.split.empty() ? "train" : manifest.split;
  Json files = Json::array(), lengths = Json::array();
  for (const ShardRecord& shard : manifest.shards) {
    files.push_back(shard.file);
    lengths.push_back(shard.samples);
  }
  const Json json = {{"splits",
                      {{split,
                        {{"name", split},
                         {"num_samples", manifest.samples},
                         {"filenames", files},
                         {"shard_lengths", lengths}}}}}};
  return json.dump(1) + "\n";
}

std::vector<ExportedFile> of_dataset(const Manifest& manifest) {
  return {{"_info.json", timm_text(manifest)}, {"wids.json", wids_text(manifest)}};
}

}  // namespace

const ExportedIndexes kExportedIndexes = {name_of_shard, why_not, of_own_shard, of_shard,
                                          of_dataset};

}  // namespace packhorse::wds

#include "packing/bucket_files.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostManifest = 256u << 20;
constexpr const char* kChooseAnother = "choose another place, or remove the dataset there first";

}  // namespace

std::string below_split(const std::string& split, const std::string& file) {
  return split.empty() ? file : split + "/" + file;
}

std::optional<std::string> text_at(RemoteFiles& files, const std::string& name,
                                   std::uint64_t most) try {
  return files.read_text(name, most);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) throw;
  return std::nullopt;
}

TextFile::TextFile(const std::string& text) : file_(unnamed_file(as_bytes(text), "a small file")) {}
fs::path TextFile::path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

BucketFiles::BucketFiles(const fs::path& url) : url_(url), files_(open_remote(url)) {
  if (!files_->can_store())
    throw Error(ErrorKind::kUnsupported, "web servers cannot be written to", url,
                "give an s3 URL, or a local folder");
}

bool BucketFiles::has_dataset() const {
  return files_->has(std::string(kManifestName)) || !files_->splits().empty();
}

bool BucketFiles::has_split(const std::string& split) const {
  return files_->has(below_split(split, std::string(kManifestName)));
}

void BucketFiles::refuse_other(const std::string& split, const std::string& manifest) const {
  const std::string name = below_split(split, std::string(kManifestName));
  const auto there = text_at(*files_, name, kMostManifest);
  if (!there || *there == manifest) return;
  throw Error(ErrorKind::kExists, "there is another dataset already", url_ / name, kChooseAnother);
}

bool BucketFiles::holds(const std::string& split, const FileRecord& file) const {
  return files_->holds(below_split(split, file.file), file.bytes, file.sha256);
}

std::optional<std::string> BucketFiles::text(const std::string& split, const std::string& name,
                                             std::uint64_t most) const {
  return text_at(*files_, below_split(split, name), most);
}

void BucketFiles::store_text(const std::string& split, std::string_view name,
                             const std::string& text) const {
  const FileRecord record{std::string(name), text.size(), sha256(as_bytes(text))};
  store(split, record, TextFile(text).path());
}

void BucketFiles::store(const std::string& split, const FileRecord& file,
                        const fs::path& path) const {
  const std::string name = below_split(split, file.file);
  if (files_->store(name, path, file.sha256)) return;
  if (files_->holds(name, file.bytes, file.sha256)) return;  // an earlier run has stored it
  throw Error(ErrorKind::kExists, "there is another file of this name, which is not replaced",
              url_ / name,
              "remove it there if nothing needs it, or choose another place; `packhorse inspect` "
              "says whether it belongs to a dataset");
}

void BucketFiles::end_uploads(const std::vector<Part>& parts) const {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    for (const ShardRecord& shard : part.manifest.shards) {
      names.push_back(below_split(part.split, shard.file));
      names.push_back(below_split(part.split, shard.index));
    }
    for (const FileRecord& file : part.manifest.files)
      names.push_back(below_split(part.split, file.file));
  }
  files_->end_uploads(names);
}

}  // namespace packhorse

#include "adopting/target.h"

#include <algorithm>
#include <set>

#include "packhorse/dataset_directory.h"
#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/hash.h"
#include "packhorse/pack.h"
#include "packhorse/packed_dataset.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStagingName = ".packhorse-index";
constexpr const char* kElsewhere = "adopt into a directory of its own: --out DIR";

fs::path directory_of(const NamedShards& shards) {
  const fs::path directory = shards.shards.front().entry.parent_path();
  for (const NamedShard& shard : shards.shards) {
    if (shard.entry.parent_path() == directory) continue;
    throw Error(ErrorKind::kUsage, "the shards lie in several directories", shard.entry,
                "say where the dataset shall go: --out DIR");
  }
  return directory;
}

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

/// The dataset at `path`, if adoption made it. Throws Error(kExists) for anything else.
Manifest adopted_before(const fs::path& path) {
  try {
    Manifest manifest = Manifest::load(path);
    if (manifest.adopted) return manifest;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kNotFound) throw;
  }
  throw Error(ErrorKind::kExists, "there is a dataset.json that no adoption wrote",
              path / kManifestName, kElsewhere);
}

/// All that adoption wrote for a dataset, dataset.json first.
std::vector<std::string> files_of(const Manifest& manifest) {
  std::vector<std::string> files = {std::string(kManifestName), std::string(kSumsName)};
  for (const ShardRecord& shard : manifest.shards) files.push_back(shard.index);
  for (const FileRecord& file : manifest.files) files.push_back(file.file);
  return files;
}

/// A manifest is only a file: what it names is taken for a file of the dataset's directory alone.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

}  // namespace

AdoptionTarget::AdoptionTarget(const NamedShards& shards, const std::optional<fs::path>& out,
                               bool overwrite)
    : path_(out ? fs::absolute(*out).lexically_normal() : directory_of(shards)),
      beside_(!out),
      overwrite_(overwrite) {
  if (!path_.has_filename()) path_ = path_.parent_path();
  if (!beside_) check_out();
  if (beside_) refuse_links(staging_path(path_ / kStagingName));
  staging_.emplace(beside_ ? path_ / kStagingName : path_, Staging::Hold::kAlone, "adopt\n");
  try {
    if (beside_) {
      clear_interrupted();
      check_beside(shards);
    }
    remove_tree(staged());
    make_directories(staged());
  } catch (...) {
    abandon();
    throw;
  }
}

AdoptionTarget::~AdoptionTarget() {
  if (staging_) abandon();
}

/// The journal stays as long as what it names lies beside the shards: without it the next adoption
/// could not tell these files from somebody else's.
void AdoptionTarget::abandon() noexcept {
  if (!unfinished_) staging_->abandon();
}

std::optional<fs::path> AdoptionTarget::class_list() const {
  fs::path file = path_ / kClassesName;
  return beside_ && fs::is_regular_file(file) ? std::optional(file) : std::nullopt;
}

/// Nothing is replaced but what an earlier adoption wrote. A class list may stay: publish() sees
/// whether it is the right one.
void AdoptionTarget::check_beside(const NamedShards& shards) const {
  std::set<std::string> replaced;
  if (is_there(path_ / kManifestName)) {
    if (!overwrite_) {
      throw Error(
          ErrorKind::kExists, "there is a dataset.json already", path_ / kManifestName,
          "replace an earlier adoption with --overwrite, or adopt elsewhere with --out DIR");
    }
    const std::vector<std::string> before = files_of(adopted_before(path_));
    replaced.insert(before.begin(), before.end());
  }
  std::vector<std::string> names = {std::string(kSumsName), std::string(kRejectsName)};
  for (const NamedShard& shard : shards.shards) names.push_back(shard.name() + ".index");
  for (const std::string& name : names) {
    if (!is_there(path_ / name) || replaced.contains(name)) continue;
    throw Error(ErrorKind::kExists, "a file that is not of an earlier adoption is in the way",
                path_ / name, kElsewhere);
  }
}

/// A directory may only be replaced when all in it is what an adoption wrote: links and its files.
void AdoptionTarget::check_out() const {
  if (!is_there(path_)) return;
  if (!overwrite_) {
    Staging::clear_leftover(path_);
    throw Error(ErrorKind::kExists, "the target is already there", path_,
                "choose another target, or say --overwrite to replace an earlier adoption");
  }
  const std::vector<std::string> written = files_of(adopted_before(path_));
  const std::set<std::string> files(written.begin(), written.end());
  for (const fs::directory_entry& entry : entries_in(path_)) {
    if (entry.is_symlink() || files.contains(entry.path().filename().native())) continue;
    throw Error(ErrorKind::kExists,
                "the target holds more than an adoption wrote, so it is not replaced", entry.path(),
                "choose another target, or remove it by hand");
  }
}

/// Removes what one that did not get to the end of publishing left beside the shards: files that
/// the journal names, as long as they are what it says.
void AdoptionTarget::clear_interrupted() {
  if (!is_there(journal()) || is_there(path_ / kManifestName)) return;
  unfinished_ = true;
  const std::string text = read_text(journal());
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t space = line.find("  ");
    if (space == std::string::npos) continue;
    const std::string name = line.substr(space + 2);
    std::error_code code;
    const fs::path file = path_ / name;
    if (is_plain_name(name) && fs::is_regular_file(fs::symlink_status(file, code)) &&
        sha256_file(file) == line.substr(0, space)) {
      fs::remove(file);
    }
  }
  unfinished_ = false;
}

void AdoptionTarget::publish(const NamedShards& shards, const Manifest& manifest) {
  if (beside_) {
    publish_beside(manifest);
    staging_->remove_behind(path_);
  } else {
    const fs::path target = fs::weakly_canonical(path_);
    for (const NamedShard& shard : shards.shards) {
      const fs::path link = fs::canonical(shard.entry).lexically_relative(target);
      fs::create_symlink(link, staged() / shard.name());
    }
    staging_->publish(overwrite_);
  }
  staging_.reset();
}

/// What lies beside the shards of an earlier adoption, dataset.json first. A class list is left.
std::vector<std::string> AdoptionTarget::files_before() const {
  if (!is_there(path_ / kManifestName)) return {};
  std::vector<std::string> names = files_of(adopted_before(path_));
  std::erase_if(names, [&](const std::string& name) {
    return !is_plain_name(name) || name == kClassesName || !is_there(path_ / name);
  });
  return names;
}

void AdoptionTarget::publish_beside(const Manifest& manifest) {
  std::vector<std::string> names = files_of(manifest);
  std::reverse(names.begin(), names.end());  // dataset.json last
  std::erase_if(names, [&](const std::string& name) {
    if (name != kClassesName || !is_there(path_ / name)) return false;
    if (read_text(path_ / name) == read_text(staged() / name)) return true;
    throw Error(ErrorKind::kExists, "another class list lies beside the shards", path_ / name,
                std::string(kElsewhere) + ", or say --classes " + (path_ / name).string());
  });
  const std::vector<std::string> before = files_before();
  std::string lines;
  for (const std::string& name : names) lines += sha256_file(staged() / name) + "  " + name + "\n";
  for (const std::string& name : before) lines += sha256_file(path_ / name) + "  " + name + "\n";
  write_file(journal(), as_bytes(lines));
  try {
    for (const std::string& name : before) fs::remove(path_ / name);
    for (const std::string& name : names) {
      if (name == kManifestName) sync_path(path_);
      rename_no_replace(staged() / name, path_ / name);
    }
    sync_path(path_);
  } catch (...) {
    // dataset.json first: without it the others are no dataset. What is no longer staged has been
    // moved, also when it was the sync behind the rename that failed.
    std::error_code ignored;
    if (!is_there(staged() / kManifestName)) fs::remove(path_ / kManifestName, ignored);
    try {
      clear_interrupted();
    } catch (const std::exception&) {  // the next adoption does it
    }
    throw;
  }
}

}  // namespace packhorse

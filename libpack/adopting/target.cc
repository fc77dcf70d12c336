#include "adopting/target.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/stop.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStagingName = ".packhorse-index";
constexpr const char* kElsewhere = "adopt into a directory of its own: `out=DIR`";

fs::path directory_of(const NamedShards& shards) {
  fs::path directory = shards.shards.front().entry.parent_path();
  for (const NamedShard& shard : shards.shards) {
    if (shard.entry.parent_path() == directory) continue;
    throw Error(ErrorKind::kUsage, "the shards are in several directories", shard.entry,
                "give a directory for the dataset: `out=DIR`");
  }
  return directory;
}

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

/// All files that adoption wrote for a dataset, dataset.json first.
std::vector<std::string> files_of(const Manifest& manifest) {
  std::vector<std::string> files = {std::string(kManifestName), std::string(kSumsName)};
  for (const ShardRecord& shard : manifest.shards) files.push_back(shard.index);
  for (const FileRecord& file : manifest.files) files.push_back(file.file);
  return files;
}

/// Whether an adoption would give its files these names. A manifest is only a file and could claim
/// anything as its own, even the shards and other files beside it.
bool names_its_own(const Manifest& manifest) {
  return std::ranges::all_of(manifest.shards,
                             [](const ShardRecord& shard) {
                               const fs::path entry = *fs::path(shard.file).begin();
                               return shard.index == index_name({entry, shard.file});
                             }) &&
         std::ranges::all_of(manifest.files, [](const FileRecord& file) {
           return file.file == kClassesName || file.file == kRejectsName;
         });
}

/// The dataset at `path`, if adoption made it. Throws Error(kExists) for anything else.
Manifest adopted_before(const fs::path& path) {
  try {
    Manifest manifest = Manifest::load(path);
    if (manifest.adopted && names_its_own(manifest)) return manifest;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kNotFound) throw;
  }
  throw Error(ErrorKind::kExists, "there is already a dataset.json, and it is not from an adoption",
              path / kManifestName, kElsewhere);
}

/// The file in `directory` that a journal's line, "SHA-256  name", describes, if it is still that
/// file.
std::optional<fs::path> as_journalled(const fs::path& directory, std::string_view line) {
  const std::size_t space = line.find("  ");
  if (space == std::string_view::npos) return std::nullopt;
  const fs::path name = line.substr(space + 2), file = directory / name;
  std::error_code code;
  const bool same = name == name.filename() &&  // a journal is only a file, too
                    fs::is_regular_file(fs::symlink_status(file, code)) &&
                    sha256_file(file) == line.substr(0, space);
  return same ? std::optional(file) : std::nullopt;
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
  staging_.emplace(beside_ ? path_ / kStagingName : path_, Staging::Hold::kAlone, "index\n");
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

/// Keeps the staging directory while it holds the only copy of some files, or while files that its
/// journal names lie beside the shards.
void AdoptionTarget::abandon() noexcept {
  if (!unfinished_) staging_->abandon();
}

std::optional<fs::path> AdoptionTarget::class_list() const {
  fs::path file = path_ / kClassesName;
  return beside_ && fs::is_regular_file(file) ? std::optional(file) : std::nullopt;
}

/// Checks that only files of an earlier adoption would be replaced. A class list may stay:
/// publish() checks whether it is the right one.
void AdoptionTarget::check_beside(const NamedShards& shards) const {
  std::set<std::string> replaced;
  if (is_there(path_ / kManifestName)) {
    if (!overwrite_) {
      throw Error(
          ErrorKind::kExists, "there is already a dataset.json", path_ / kManifestName,
          "replace an earlier adoption with `overwrite=true`, or adopt elsewhere with `out=DIR`");
    }
    const std::vector<std::string> before = files_of(adopted_before(path_));
    replaced.insert(before.begin(), before.end());
  }
  std::vector<std::string> names = {std::string(kSumsName), std::string(kRejectsName)};
  for (const NamedShard& shard : shards.shards) names.push_back(index_name(shard));
  for (const std::string& name : names) {
    if (!is_there(path_ / name) || replaced.contains(name)) continue;
    throw Error(ErrorKind::kExists,
                "a file that does not come from an earlier adoption is in the way", path_ / name,
                kElsewhere);
  }
}

/// Checks that an adoption wrote everything in the directory: links and its own files. Only then
/// may it be replaced.
void AdoptionTarget::check_out() const {
  if (!is_there(path_)) return;
  if (!overwrite_) {
    Staging::clear_leftover(path_);
    throw Error(ErrorKind::kExists, "the target already exists", path_,
                "choose another target, or give `overwrite=true` to replace an earlier adoption");
  }
  const std::vector<std::string> written = files_of(adopted_before(path_));
  const std::set<std::string> files(written.begin(), written.end());
  for (const fs::directory_entry& entry : entries_in(path_)) {
    if (entry.is_symlink() || files.contains(entry.path().filename().native())) continue;
    throw Error(ErrorKind::kExists,
                "the target holds files that no adoption wrote, so it is not replaced",
                entry.path(), "choose another target, or remove it by hand");
  }
}

/// Cleans up after an adoption that died. If dataset.json is in place, that adoption either had set
/// nothing aside yet or was done; otherwise it was in between.
void AdoptionTarget::clear_interrupted() {
  if (!is_there(journal())) return;
  const StopExempt whole;
  unfinished_ = true;
  if (is_there(path_ / kManifestName)) {
    remove_tree(before());
  } else {
    roll_back();
  }
  unfinished_ = false;
}

/// Removes the files that were moved in, as long as they are what the journal says, and puts back
/// the earlier ones. dataset.json goes first and comes last: without it the others are not a
/// dataset.
void AdoptionTarget::roll_back() const {
  const std::string text = read_text(journal());
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (const auto file = as_journalled(path_, line)) remove_tree(*file);
  }
  if (!is_there(before())) return;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : entries_in(before()))
    files.push_back(entry.path().filename());
  std::stable_partition(files.begin(), files.end(),
                        [](const fs::path& file) { return file != kManifestName; });
  for (const fs::path& file : files) {
    if (file == kManifestName) sync_path(path_);
    rename_no_replace(before() / file, path_ / file);
  }
  sync_path(path_);
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

/// Moves the files of an earlier adoption, except the class list, into the staging directory.
void AdoptionTarget::set_aside(const Manifest& manifest) const {
  make_directories(before());
  for (const std::string& name : files_of(manifest)) {
    if (name == kClassesName || !is_there(path_ / name)) continue;
    rename_no_replace(path_ / name, before() / name);
    if (name == kManifestName) sync_path(path_);
  }
  sync_path(before());
}

void AdoptionTarget::publish_beside(const Manifest& manifest) {
  std::vector<std::string> names = files_of(manifest);
  std::ranges::reverse(names);  // dataset.json last
  std::erase_if(names, [&](const std::string& name) {
    if (name != kClassesName || !is_there(path_ / name)) return false;
    if (read_text(path_ / name) == read_text(staged() / name)) return true;
    throw Error(ErrorKind::kExists, "there is a different class list beside the shards",
                path_ / name,
                std::string(kElsewhere) + ", or give " + opt("classes", (path_ / name).native()));
  });
  std::string lines;
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    lines += sha256_file(staged() / *name) + "  " + *name + "\n";
  const StopExempt whole;
  write_file(journal(), as_bytes(lines));
  unfinished_ = true;
  try {
    if (is_there(path_ / kManifestName)) set_aside(adopted_before(path_));
    for (const std::string& name : names) {
      if (name == kManifestName) sync_path(path_);
      rename_no_replace(staged() / name, path_ / name);
    }
    sync_path(path_);
  } catch (const Error& error) {
    try {
      roll_back();
    } catch (const std::exception& second) {
      throw Error(error.kind(),
                  std::string(error.what()) +
                      "; and what was there before cannot be restored: " + second.what(),
                  error.path(), "run the same command again: it restores that first");
    }
    unfinished_ = false;
    throw;
  }
  unfinished_ = false;
}

}  // namespace packhorse

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "adopting/named_shards.h"
#include "packhorse/dataset/manifest.h"
#include "packing/staging.h"

namespace packhorse {

/// Where an adopted dataset goes: beside its shards, or into a directory of its own with symbolic
/// links to them. It is put together in a staging directory and appears at once; nothing that
/// packhorse's adoption did not write is ever replaced or removed.
///
/// Beside the shards, files are moved in one by one, dataset.json last. Before that, the files of
/// an earlier adoption are set aside in the staging directory, dataset.json first. After an error
/// they are put back. A process that dies in between leaves no dataset.json: the journal in the
/// staging directory names the files that were moved in, and the next adoption removes these and
/// puts back those that were set aside.
class AdoptionTarget {
 public:
  /// Throws Error(kExists) for files that are in the way, Error(kUsage) when the shards lie in
  /// several directories and there is no `out`.
  AdoptionTarget(const NamedShards& shards, const std::optional<std::filesystem::path>& out,
                 bool overwrite);
  /// Removes the staging directory, unless it holds the only copy of an earlier adoption's files or
  /// files beside the shards could not be removed: then it stays for the next adoption.
  ~AdoptionTarget();
  AdoptionTarget(const AdoptionTarget&) = delete;
  AdoptionTarget& operator=(const AdoptionTarget&) = delete;

  /// The dataset, once it is published.
  const std::filesystem::path& path() const { return path_; }
  /// A class list that already lies beside the shards; it may stay when it is the right one.
  std::optional<std::filesystem::path> class_list() const;
  /// The directory where the dataset's files are written first.
  std::filesystem::path staged() const { return staging_->data(""); }
  /// Makes the staged files and the shards a dataset, and removes the staging directory. The last
  /// call.
  void publish(const NamedShards& shards, const Manifest& manifest);

 private:
  void check_beside(const NamedShards& shards) const;
  void check_out() const;
  void clear_interrupted();
  void publish_beside(const Manifest& manifest);
  void set_aside(const Manifest& manifest) const;
  void roll_back() const;
  void abandon() noexcept;
  std::filesystem::path journal() const { return staging_->root() / "moved"; }
  std::filesystem::path before() const { return staging_->root() / "before"; }

  std::filesystem::path path_;
  bool beside_, overwrite_;
  bool unfinished_ = false;  ///< between the old dataset.json and the new one
  std::optional<Staging> staging_;
};

}  // namespace packhorse

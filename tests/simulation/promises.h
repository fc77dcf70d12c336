#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "simulation/place.h"
#include "simulation/world.h"

/// What is promised of datasets, looked at after each step of a world.
namespace packhorse::simulation {

/// No manifest names the card beside splits, so that nobody sees what was damaged in it on its way.
bool may_be_damaged(const World& world, const std::string& name);

/// A dataset in the bucket. What lies there is always what the undisturbed dataset has, and with
/// dataset.json all of it.
class BucketPromise {
 public:
  BucketPromise(const World& world, std::string prefix, const Files& files)
      : world_(world), prefix_(std::move(prefix)), files_(files) {}
  void check();
  bool is_complete() const;
  /// At the end: nothing is missing, nothing is left beside it, and no upload is under way.
  void check_end() const;

 private:
  const World& world_;
  const std::string prefix_;  ///< "d/"
  const Files& files_;
  std::uint64_t seen_ = ~std::uint64_t{0};
};

/// A dataset on a disk: it is not there, or all of it is.
class DiskPromise {
 public:
  DiskPromise(const World& world, std::filesystem::path out, const Files& files)
      : world_(world), out_(std::move(out)), files_(files) {}
  void check();
  bool is_complete() const { return complete_; }
  void check_end() const;

 private:
  const World& world_;
  const std::filesystem::path out_;
  const Files& files_;
  bool complete_ = false;
};

/// A dataset on a disk that others replace: once there is one, there always is one, and each is one
/// of `all` as a whole.
class ReplacedPromise {
 public:
  ReplacedPromise(std::filesystem::path out, std::vector<const Files*> all)
      : out_(std::move(out)), all_(std::move(all)) {}
  void check();
  void check_end() const;

 private:
  const std::filesystem::path out_;
  const std::vector<const Files*> all_;
  std::uint64_t seen_ = 0;  ///< the directory's number
};

}  // namespace packhorse::simulation

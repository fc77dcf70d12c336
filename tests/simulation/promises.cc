#include "simulation/promises.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace packhorse::simulation {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLast = "dataset.json";

}  // namespace

bool may_be_damaged(const World& world, const std::string& name) {
  return world.faults.damage && name == "README.md";
}

void BucketPromise::check() {
  const Bucket& bucket = world_.bucket;
  if (seen_ == bucket.changes()) return;
  seen_ = bucket.changes();
  for (const std::string& key : bucket.keys(prefix_)) {
    const auto expected = files_.find(key.substr(prefix_.size()));
    if (expected == files_.end()) throw Violation(key + " does not belong to the dataset");
    if (!may_be_damaged(world_, expected->first) &&
        expected->second != bucket.objects().at(key).content)
      throw Violation(key + " is not what the undisturbed dataset has");
  }
  for (const auto& [name, content] : files_) {
    if (!bucket.objects().contains(prefix_ + name) || !name.ends_with(kLast)) continue;
    const std::string split = name.substr(0, name.size() - std::string_view(kLast).size());
    for (const auto& [other, its] : files_) {
      if (other.starts_with(split) && other.find('/', split.size()) == std::string::npos &&
          !bucket.objects().contains(prefix_ + other))
        throw Violation(fmt::format("there is {}, but no {}", name, other));
    }
  }
}

bool BucketPromise::is_complete() const {
  return world_.bucket.keys(prefix_).size() == files_.size();
}

void BucketPromise::check_end() const {
  if (!is_complete()) throw Violation("the dataset is not complete at the end");
  if (world_.network.had_late_requests()) return;  // they may leave anything behind
  const std::string beside = prefix_.substr(0, prefix_.size() - 1) + ".partial/";
  for (const std::string& key : world_.bucket.keys(beside)) throw Violation(key + " is left over");
  if (world_.faults.damage) return;  // so may be the list of what was begun
  for (const std::string& upload : world_.bucket.uploads(""))
    throw Violation("an upload is left over: " + upload);
}

void DiskPromise::check() {
  if (complete_ || !fs::exists(out_)) return;
  check_end();
  complete_ = true;
}

void DiskPromise::check_end() const {
  if (!fs::exists(out_)) throw Violation("the dataset is not there at the end");
  const Files there = files_below(out_);
  for (const auto& [name, content] : files_) {
    if (!there.contains(name)) throw Violation(name + " is missing");
    if (!may_be_damaged(world_, name) && there.at(name) != content)
      throw Violation(name + " is not what the undisturbed dataset has");
  }
  if (there.size() != files_.size()) throw Violation("there are files that do not belong there");
}

void ReplacedPromise::check() {
  struct stat status {};
  if (::stat(out_.c_str(), &status) != 0) {
    if (seen_ != 0) throw Violation("a dataset was there, and is gone");
    return;
  }
  if (status.st_ino == seen_) return;
  seen_ = status.st_ino;
  check_end();
}

void ReplacedPromise::check_end() const {
  if (!fs::exists(out_)) throw Violation("the dataset is not there at the end");
  const Files there = files_below(out_);
  if (std::none_of(all_.begin(), all_.end(), [&](const Files* one) { return *one == there; }))
    throw Violation("what is there is none of the datasets as a whole");
}

}  // namespace packhorse::simulation

#include "verify/shard_copies.h"

#include <utility>

#include "base/stop.h"
#include "dataset/copied_file.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

namespace fs = std::filesystem;

ShardCopies::ShardCopies(const DatasetDirectory& dataset, const std::string& manifest)
    : dataset_(dataset), directory_("verify") {
  put(std::string(kManifestName), as_bytes(manifest));
}

ShardCopies::~ShardCopies() {
  over_.request_stop();
  thread_ = {};  // waits for it
}

void ShardCopies::put(const std::string& name, Bytes content) const {
  make_directories((root() / name).parent_path());
  write_plain_file(root() / name, content);
}

void ShardCopies::copy(const Wanted& wanted) const {
  const fs::path to = root() / wanted.file;
  make_directories(to.parent_path());
  for (int attempt = 0; attempt < (wanted.sha256.empty() ? 1 : 2); ++attempt) {
    const std::string sum = copy_from_afar(dataset_, wanted.file, wanted.bytes, to);
    if (sum == wanted.sha256) return;
  }
}

void ShardCopies::start(std::vector<Wanted> wanted, std::size_t most) {
  for (Wanted& one : wanted) copies_.push_back({std::move(one)});
  most_ = most;
  given_.emplace(current_stop(), [this] { over_.request_stop(); });
  thread_ = std::jthread([this] { copy_all(); });
}

void ShardCopies::copy_all() {
  const StopScope scope(over_.get_token());
  for (Copy& one : copies_) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, over_.get_token(), [&] { return there_ < most_; })) return;
      ++there_;
    }
    std::exception_ptr error;
    try {
      copy(one.wanted);
    } catch (...) {
      error = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    one.there = error == nullptr;
    error_ = error;
    changed_.notify_all();
    if (error) return;  // nothing is verified behind an error
  }
}

void ShardCopies::wait_for(std::size_t i) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, over_.get_token(), [&] { return copies_[i].there || error_; });
  if (copies_[i].there) return;
  if (error_) std::rethrow_exception(error_);
  throw Error(ErrorKind::kInterrupted, "stopped on request");
}

void ShardCopies::release(std::size_t i) {
  const std::scoped_lock lock(mutex_);
  Copy& copy = copies_[i];
  if (--copy.wanted.uses > 0) return;
  std::error_code code;  // what cannot be removed goes with the directory
  fs::remove(root() / copy.wanted.file, code);
  --there_;
  changed_.notify_all();
}

}  // namespace packhorse

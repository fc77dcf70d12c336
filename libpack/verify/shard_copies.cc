#include "verify/shard_copies.h"

#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "dataset/copied_file.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

fs::path make_temporary_directory() {
  const char* const given = ::getenv("TMPDIR");
  const fs::path place = given != nullptr && *given != '\0' ? given : "/tmp";
  std::string name = (place / "packhorse-verify-XXXXXX").native();
  if (::mkdtemp(name.data()) == nullptr) throw_errno("create a directory", name);
  return name;
}

}  // namespace

ShardCopies::ShardCopies(const DatasetDirectory& dataset, const std::string& manifest)
    : dataset_(dataset), root_(make_temporary_directory()) {
  put(std::string(kManifestName), as_bytes(manifest));
}

ShardCopies::~ShardCopies() {
  over_.request_stop();
  thread_ = {};  // waits for it
  try {
    remove_tree(root_);
  } catch (const Error&) {  // the system removes what lies there in its time
  }
}

void ShardCopies::put(const std::string& name, Bytes content) const {
  make_directories((root_ / name).parent_path());
  write_plain_file(root_ / name, content);
}

void ShardCopies::copy_again(const std::string& file, std::uint64_t bytes) const {
  make_directories((root_ / file).parent_path());
  copy_from_afar(dataset_, file, bytes, root_ / file, over_.get_token());
}

void ShardCopies::start(std::vector<Wanted> wanted, std::size_t most, const std::stop_token& stop) {
  for (Wanted& one : wanted) copies_.push_back({std::move(one), State::kToCome, nullptr});
  most_ = most;
  given_.emplace(stop, [this] { over_.request_stop(); });
  thread_ = std::jthread([this] { copy_all(); });
}

void ShardCopies::copy_all() {
  for (Copy& copy : copies_) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, over_.get_token(), [&] { return there_ < most_; })) return;
      ++there_;
    }
    std::exception_ptr error;
    try {
      copy_again(copy.wanted.file, copy.wanted.bytes);
    } catch (...) {
      error = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    copy.error = error;
    copy.state = error ? State::kFailed : State::kThere;
    changed_.notify_all();
    if (error) return;  // nothing is verified behind an error
  }
}

void ShardCopies::wait_for(std::size_t i) {
  std::unique_lock lock(mutex_);
  const auto is_decided = [&] {
    if (copies_[i].state != State::kToCome) return true;
    return std::any_of(copies_.begin(), copies_.end(),
                       [](const Copy& copy) { return copy.state == State::kFailed; });
  };
  if (!changed_.wait(lock, over_.get_token(), is_decided))
    throw Error(ErrorKind::kInterrupted, "stopped on request");
  for (const Copy& copy : copies_)
    if (copy.error && copies_[i].state != State::kThere) std::rethrow_exception(copy.error);
}

void ShardCopies::release(std::size_t i) {
  const std::scoped_lock lock(mutex_);
  Copy& copy = copies_[i];
  if (--copy.wanted.uses > 0) return;
  std::error_code code;  // what cannot be removed goes with the directory
  fs::remove(root_ / copy.wanted.file, code);
  copy.state = State::kGone;
  --there_;
  changed_.notify_all();
}

}  // namespace packhorse

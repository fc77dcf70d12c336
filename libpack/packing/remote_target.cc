#include "packing/remote_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "dataset/shard_index.h"
#include "formats/dataset_card.h"
#include "packhorse/base/error.h"
#include "packing/pack_shard.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kUploadThreads = 4;
constexpr int kRequests = 16;
constexpr std::uint64_t kMostReceipt = std::uint64_t{1} << 30;  ///< bytes; see receipt.cc
constexpr std::uint64_t kMostJob = 1u << 20;
constexpr std::uint64_t kMostManifest = 256u << 20;

std::string below(const std::string& split, const std::string& file) {
  return split.empty() ? file : split + "/" + file;
}

std::string receipt_name(const std::string& split, const fs::path& receipt) {
  return "receipts/" + below(split, receipt.filename());
}

/// A text as a file that has a path in this process.
class Memory {
 public:
  explicit Memory(const std::string& text) : file_(unnamed_file(as_bytes(text), "a small file")) {}
  fs::path path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  UniqueFd file_;
};

/// A small file, or nothing where there is none.
std::optional<std::string> text_at(RemoteFiles& files, const std::string& name,
                                   std::uint64_t most) try {
  return files.read_text(name, most);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) throw;
  return std::nullopt;
}

}  // namespace

RemoteTarget::RemoteTarget(const fs::path& out) : out_(out), files_(open_remote(out)) {
  if (!files_->can_store())
    throw Error(ErrorKind::kUnsupported, "web servers cannot be written to", out,
                "give an s3 URL, or a local folder");
}

void RemoteTarget::refuse_dataset(const fs::path& staging, bool overwrite) const {
  if (overwrite)
    throw Error(ErrorKind::kUsage, "what lies at a URL is never replaced", out_,
                "choose another place, or remove the dataset there first");
  if (fs::exists(staging)) return;  // its dataset.json may be from the end of that run
  if (!files_->has(std::string(kManifestName)) && files_->splits().empty()) return;
  throw Error(ErrorKind::kExists, "the target already exists", out_,
              "choose another place, or remove the dataset there first");
}

bool RemoteTarget::is_finished(const Splits& splits) const {
  return std::all_of(splits.begin(), splits.end(), [this](const auto& split) {
    return files_->has(below(split.first, std::string(kManifestName)));
  });
}

void RemoteTarget::refuse_finished(const Splits& splits) const {
  if (!is_finished(splits)) return;
  throw Error(ErrorKind::kExists, "the dataset is finished already", out_,
              "choose another place, or remove the dataset there first");
}

void RemoteTarget::refuse_other(const std::string& split, const std::string& manifest) const {
  const std::string name = below(split, std::string(kManifestName));
  const auto there = text_at(*files_, name, kMostManifest);
  if (!there || *there == manifest) return;
  throw Error(ErrorKind::kExists, "there is another dataset already", out_ / name,
              "choose another place, or remove the dataset there first");
}

RemoteTarget::~RemoteTarget() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
}

std::shared_ptr<RemoteFiles> RemoteTarget::open_beside() const {
  std::string url = out_.native();
  while (url.ends_with('/')) url.pop_back();
  const std::size_t host = url.find("://") + 3;
  return url.find('/', host) == std::string::npos ? nullptr : open_remote(url + ".partial");
}

void RemoteTarget::join(const std::string& job) {
  beside_ = open_beside();
  if (!beside_)
    throw Error(ErrorKind::kUsage, "tasks need a place beside the dataset, and this is a bucket",
                out_, "give a place in the bucket");
  if (beside_->store("job", Memory(job).path(), sha256(as_bytes(job)), {})) return;
  if (beside_->read_text("job", kMostJob) == job) return;
  throw Error(ErrorKind::kExists,
              "tasks with other options, or of another version, have worked here",
              out_.native() + ".partial",
              "run every task with the same command apart from `task=`; to start over, remove what "
              "lies there, and the shards in the dataset's place, while no task is running");
}

bool RemoteTarget::bring(const Staging& staging, const std::string& split, std::size_t shard,
                         const fs::path& stale) const {
  const fs::path receipt = staging.receipts(split) / receipt_name_of(shard);
  const auto text = text_at(*beside_, receipt_name(split, receipt), kMostReceipt);
  if (!text) return false;
  const std::string index = index_name_of(shard);
  const auto content = text_at(*files_, below(split, index), kMostReceipt);
  if (!stale.empty()) remove_tree(stale);
  if (content) write_file(staging.data(split) / index, as_bytes(*content));
  write_file(receipt, as_bytes(*text));
  return true;
}

void RemoteTarget::bring_all(const Staging& staging, const std::string& split,
                             std::size_t shards) const {
  make_directories(staging.receipts(split));
  make_directories(staging.data(split));
  run_parallel(kRequests, shards, [&](std::size_t shard) {
    if (!fs::exists(staging.receipts(split) / receipt_name_of(shard)))
      bring(staging, split, shard, {});
  });
}

bool RemoteTarget::holds(const std::string& split, const FileRecord& file) const {
  return files_->holds(below(split, file.file), file.bytes, file.sha256);
}

void RemoteTarget::store_text(const std::string& split, std::string_view name,
                              const std::string& text, const std::stop_token& stop) const {
  const FileRecord record{std::string(name), text.size(), sha256(as_bytes(text))};
  store(split, record, Memory(text).path(), stop);
}

void RemoteTarget::store(const std::string& split, const FileRecord& file, const fs::path& path,
                         const std::stop_token& stop) const {
  const std::string name = below(split, file.file);
  if (files_->store(name, path, file.sha256, stop)) return;
  if (files_->holds(name, file.bytes, file.sha256)) return;  // an earlier run has stored it
  throw Error(ErrorKind::kExists, "there is another file of this name, which is not replaced",
              out_ / name,
              "remove it there if nothing needs it, or choose another place; `packhorse inspect` "
              "says whether it belongs to a dataset");
}

void RemoteTarget::end_uploads(const std::vector<Part>& parts) const {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    for (const ShardRecord& shard : part.manifest.shards) {
      names.push_back(below(part.split, shard.file));
      names.push_back(below(part.split, shard.index));
    }
    for (const FileRecord& file : part.manifest.files)
      names.push_back(below(part.split, file.file));
  }
  files_->end_uploads(names);
}

void RemoteTarget::store_receipt(const Upload& upload) const {
  const std::string name = receipt_name(upload.split, upload.receipt);
  const std::string sum = sha256_file(upload.receipt);
  while (!beside_->store(name, upload.receipt, sum, upload.stop)) {
    if (beside_->holds(name, fs::file_size(upload.receipt), sum)) return;
    beside_->remove(name);  // of another version, or of a source that has changed since
  }
}

void RemoteTarget::store(const Upload& upload) const {
  const ShardRecord& record = upload.record;
  if (record.samples > 0) {
    const fs::path data = upload.data / record.file;
    const FileRecord file = {record.file, record.bytes, record.sha256};
    const FileRecord index = {record.index, record.index_bytes, record.index_sha256};
    const bool here = fs::exists(data);
    if (!here && !holds(upload.split, file)) {
      throw Error(ErrorKind::kNotFound, "a finished shard is neither here nor there",
                  out_ / below(upload.split, record.file), "run the same command again");
    }
    run_parallel(2, here ? 2 : 1, [&](std::size_t i) {
      const FileRecord& one = i == 0 ? index : file;
      store(upload.split, one, upload.data / one.file, upload.stop);
    });
    if (here) remove_tree(data);
  }
  if (!upload.receipt.empty()) store_receipt(upload);
}

void RemoteTarget::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Upload upload = std::move(waiting_.front());
    waiting_.pop_front();
    ++under_way_;
    lock.unlock();
    std::exception_ptr error;
    try {
      const StopScope scope(upload.stop);
      store(upload);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --under_way_;
    if (error && !error_) error_ = error;
    if (error) waiting_.clear();
    changed_.notify_all();
  }
}

void RemoteTarget::add(const std::string& split, const fs::path& data, const ShardRecord& record,
                       const fs::path& receipt, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (threads_.size() < kUploadThreads) threads_.emplace_back([this] { run(); });
  changed_.wait(lock, [this] { return error_ || waiting_.size() + under_way_ < kMostHere; });
  if (error_) std::rethrow_exception(error_);
  waiting_.push_back({split, data, record, receipt, stop});
  changed_.notify_all();
}

void RemoteTarget::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && under_way_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void RemoteTarget::publish(const Staging& staging, const std::vector<Part>& parts,
                           const std::stop_token& stop) {
  for (const Part& part : parts) {
    const fs::path data = staging.data(part.split);
    const std::vector<FileRecord>& files = part.manifest.files;
    run_parallel(kRequests, files.size() + 1, [&](std::size_t i) {
      if (i < files.size()) return store(part.split, files[i], data / files[i].file, stop);
      store_text(part.split, kSumsName, part.manifest.sums(), stop);
    });
  }
  end_uploads(parts);
  const fs::path card = staging.data("") / kCardName;
  if (fs::exists(card)) store_text("", kCardName, read_text(card), stop);
  for (const Part& part : parts)
    store_text(part.split, kManifestName, part.manifest.serialise(), stop);
}

void RemoteTarget::clear(const Splits& splits) {
  const bool joined = beside_ != nullptr;
  try {
    // Tasks may have begun what one run completes.
    if (!joined) beside_ = open_beside();
    if (!beside_ || (!joined && !beside_->has("job"))) return;
    for (const auto& [split, count] : splits) {
      run_parallel(kRequests, count, [&, &name = split](std::size_t shard) {
        beside_->remove(receipt_name(name, receipt_name_of(shard)));
      });
    }
    beside_->remove("job");
  } catch (const Error& error) {
    if (!joined) return;  // whoever may write the dataset need not be allowed to look beside it
    throw Error(ErrorKind::kIo,
                out_.native() + " is complete and in place, but what the tasks left beside it " +
                    "cannot be removed: " + error.what(),
                out_.native() + ".partial", "run the same command again, or remove it by hand");
  }
}

bool RemoteTarget::clear_if_finished(const Splits& splits) {
  if (!is_finished(splits)) return false;
  clear(splits);
  return true;
}

}  // namespace packhorse

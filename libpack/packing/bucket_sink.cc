#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "dataset/shard_index.h"
#include "formats/dataset_card.h"
#include "packhorse/base/error.h"
#include "packing/bucket_files.h"
#include "packing/receipt.h"
#include "packing/shard_sink.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kUploadThreads = 4;
constexpr std::size_t kMostWaiting = 6;
constexpr int kRequests = 16;
constexpr std::uint64_t kMostReceipt = std::uint64_t{1} << 30;  ///< bytes; see receipt.cc
constexpr std::uint64_t kMostJob = 1u << 20;

std::string receipt_at(const std::string& split, const fs::path& receipt) {
  return "receipts/" + below_split(split, receipt.filename());
}

/// Finished shards go to where they will stay as soon as they are packed; nobody takes them for a
/// dataset before its dataset.json is there, which comes last. For several machines that pack one
/// dataset, what they must know of each other lies beside it:
///
///     OUT/<split>/shard-000007.tar, .index
///     OUT.partial/job                                 as in a staging directory (staging.h)
///     OUT.partial/receipts/<split>/shard-000007.json
class BucketSink final : public ShardSink {
 public:
  BucketSink(const fs::path& out, fs::path staging, const PackOptions& options)
      : files_(out),
        staging_(std::move(staging)),
        overwrite_(options.overwrite),
        is_task_(options.task.has_value()) {}
  ~BucketSink() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      waiting_.clear();
    }
    changed_.notify_all();
  }

  void refuse_existing() const override {
    if (overwrite_)
      throw Error(ErrorKind::kUsage, "what lies at a URL is never replaced", out(),
                  "choose another place, or remove the dataset there first");
    if (fs::exists(staging_)) return;  // its dataset.json may be from the end of that run
    if (!files_.has_dataset()) return;
    throw Error(ErrorKind::kExists, "the target already exists", out(),
                "choose another place, or remove the dataset there first");
  }

  void refuse_finished(const Splits& splits) const override {
    if (!is_finished(splits)) return;
    throw Error(ErrorKind::kExists, "the dataset is finished already", out(),
                "choose another place, or remove the dataset there first");
  }

  bool is_taken() const override { return false; }  // each file is refused where another one is

  void join(const std::string& job) override {
    beside_ = open_beside();
    if (!beside_)
      throw Error(ErrorKind::kUsage, "tasks need a place beside the dataset, and this is a bucket",
                  out(), "give a place in the bucket");
    if (beside_->store("job", TextFile(job).path(), sha256(as_bytes(job)))) return;
    if (beside_->read_text("job", kMostJob) == job) return;
    throw Error(ErrorKind::kExists,
                "tasks with other options, or of another version, have worked here",
                out().native() + ".partial",
                "run every task with the same command apart from `task=`; to start over, remove "
                "what lies there, and the shards in the dataset's place, while no task is running");
  }

  bool holds(const std::string& split, const ShardRecord& record) const override {
    return files_.holds(split, {record.file, record.bytes, record.sha256});
  }

  bool bring(const Staging& staging, const std::string& split, std::size_t shard,
             const fs::path& stale) const override {
    const fs::path receipt = staging.receipts(split) / receipt_name_of(shard);
    const auto text = text_at(*beside_, receipt_at(split, receipt), kMostReceipt);
    if (!text) return false;
    const std::string index = index_name_of(shard);
    const auto content = files_.text(split, index, kMostReceipt);
    if (!stale.empty()) remove_tree(stale);
    if (content) write_file(staging.data(split) / index, as_bytes(*content));
    write_file(receipt, as_bytes(*text));
    return true;
  }

  void bring_all(const Staging& staging, const Splits& splits) const override {
    for (const auto& [split, shards] : splits) {
      make_directories(staging.receipts(split));
      make_directories(staging.data(split));
      run_parallel(kRequests, shards, [&, &split = split](std::size_t shard) {
        if (!fs::exists(staging.receipts(split) / receipt_name_of(shard)))
          bring(staging, split, shard, {});
      });
    }
  }

  std::size_t most_waiting() const override { return kMostWaiting; }

  void add(const Staging& staging, const Finished& shard) override {
    if (shard.outcome.may_change) {  // nothing there can be replaced
      const std::scoped_lock lock(mutex_);
      ++held_back_;
      return;
    }
    const ShardRecord& record = shard.outcome.record;
    const bool here = fs::exists(staging.data(shard.split) / record.file);
    if (!here && !is_task_) return;  // it is there
    const fs::path receipt = staging.receipts(shard.split) / receipt_name_of(shard.number);
    queue({shard.split, staging.data(shard.split), here ? record : ShardRecord(),
           is_task_ ? receipt : fs::path(), current_stop()});
  }

  std::size_t held_back() const override {
    const std::scoped_lock lock(mutex_);
    return held_back_;
  }

  void settle(const Staging& staging, const Finished& shard) override {
    settle_receipt(staging.receipts(shard.split) / receipt_name_of(shard.number));
    queue({shard.split, staging.data(shard.split), shard.outcome.record, {}, current_stop()});
  }

  void finish() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && under_way_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

  void publish(Staging& staging, const std::vector<PackedSplit>& splits,
               const Splits& shards) override {
    store_splits(staging, splits);
    // Before the staging directory goes: without it, a run that died would not be gone on with.
    clear(shards);
    staging.remove_behind(out());
  }

  bool clear_if_finished(const Splits& splits) override {
    if (!is_finished(splits)) return false;
    clear(splits);
    return true;
  }

 private:
  struct Upload {
    std::string split;
    fs::path data;
    ShardRecord record;
    fs::path receipt;  ///< empty: it is not stored
    std::stop_token stop;
  };

  const fs::path& out() const { return files_.url(); }

  bool is_finished(const Splits& splits) const {
    return std::ranges::all_of(splits,
                               [this](const auto& split) { return files_.has_split(split.first); });
  }

  /// Opens OUT.partial; nothing for a whole bucket, beside which others' lie.
  std::shared_ptr<RemoteFiles> open_beside() const {
    std::string url = out().native();
    while (url.ends_with('/')) url.pop_back();
    const std::size_t host = url.find("://") + 3;
    return url.find('/', host) == std::string::npos ? nullptr : open_remote(url + ".partial");
  }

  void queue(Upload upload) {
    std::unique_lock lock(mutex_);
    while (threads_.size() < kUploadThreads) threads_.emplace_back([this] { run(); });
    changed_.wait(lock, [this] { return error_ || waiting_.size() + under_way_ < kMostWaiting; });
    if (error_) std::rethrow_exception(error_);
    waiting_.push_back(std::move(upload));
    changed_.notify_all();
  }

  void run() {
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

  /// Stores a shard, and then removes its data file here.
  void store(const Upload& upload) const {
    const ShardRecord& record = upload.record;
    if (record.samples > 0) {
      const fs::path data = upload.data / record.file;
      const FileRecord index = {record.index, record.index_bytes, record.index_sha256};
      const FileRecord file = {record.file, record.bytes, record.sha256};
      const bool here = fs::exists(data);
      if (!here && !holds(upload.split, record)) {
        throw Error(ErrorKind::kNotFound, "a finished shard is neither here nor there",
                    out() / below_split(upload.split, record.file), "run the same command again");
      }
      run_parallel(2, here ? 2 : 1, [&](std::size_t i) {
        const FileRecord& one = i == 0 ? index : file;
        files_.store(upload.split, one, upload.data / one.file);
      });
      if (here) remove_tree(data);
    }
    if (!upload.receipt.empty()) store_receipt(upload);
  }

  void store_receipt(const Upload& upload) const {
    const std::string name = receipt_at(upload.split, upload.receipt);
    const std::string sum = sha256_file(upload.receipt);
    while (!beside_->store(name, upload.receipt, sum)) {
      if (beside_->holds(name, fs::file_size(upload.receipt), sum)) return;
      beside_->remove(name);  // of another version, or of a source that has changed since
    }
  }

  /// Stores the files that are no shards, the card if there is one, and each dataset.json when
  /// everything else is there.
  void store_splits(const Staging& staging, const std::vector<PackedSplit>& splits) const {
    std::vector<BucketFiles::Part> parts;
    for (const PackedSplit& split : splits) {
      parts.push_back({split.split, split.manifest});
      const fs::path data = staging.data(split.split);
      const std::vector<FileRecord>& files = split.manifest.files;
      run_parallel(kRequests, files.size() + 1, [&](std::size_t i) {
        if (i < files.size()) return files_.store(split.split, files[i], data / files[i].file);
        files_.store_text(split.split, kSumsName, split.manifest.sums());
      });
    }
    files_.end_uploads(parts);
    const fs::path card = staging.data("") / kCardName;
    if (fs::exists(card)) files_.store_text("", kCardName, read_text(card));
    for (const PackedSplit& split : splits)
      files_.store_text(split.split, kManifestName, split.manifest.serialise());
  }

  /// Removes what tasks have left beside. An error says that the dataset is complete; where no task
  /// was seen, there is none.
  void clear(const Splits& splits) {
    const bool joined = beside_ != nullptr;
    try {
      // Tasks may have begun what one run completes.
      if (!joined) beside_ = open_beside();
      if (!beside_ || (!joined && !beside_->has("job"))) return;
      for (const auto& [split, count] : splits) {
        run_parallel(kRequests, count, [&, &name = split](std::size_t shard) {
          beside_->remove(receipt_at(name, receipt_name_of(shard)));
        });
      }
      beside_->remove("job");
    } catch (const Error& error) {
      if (!joined) return;  // whoever may write the dataset need not be allowed to look beside it
      throw Error(ErrorKind::kIo,
                  out().native() + " is complete and in place, but what the tasks left beside it " +
                      "cannot be removed: " + error.what(),
                  out().native() + ".partial", "run the same command again, or remove it by hand");
    }
  }

  const BucketFiles files_;
  const fs::path staging_;
  const bool overwrite_, is_task_;
  std::shared_ptr<RemoteFiles> beside_;  ///< OUT.partial, of tasks; see join()
  mutable std::mutex mutex_;             ///< guards everything below
  std::condition_variable changed_;
  std::deque<Upload> waiting_;
  std::size_t under_way_ = 0, held_back_ = 0;
  bool ending_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<ShardSink> bucket_sink(const fs::path& out, const fs::path& staging,
                                       const PackOptions& options) {
  return std::make_unique<BucketSink>(out, staging, options);
}

}  // namespace packhorse

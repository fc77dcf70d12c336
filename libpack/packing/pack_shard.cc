#include "packing/pack_shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "annotations/extra_targets.h"
#include "annotations/sample_targets.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/stream_file.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packing/option_table.h"
#include "packing/pack_item.h"
#include "packing/receipt.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBatchItems = 32;
constexpr std::uint64_t kBatchBytes = 1u << 20;
constexpr std::uint64_t kLargeInput = 8u << 20;
constexpr std::size_t kWindowItems = 4096;
constexpr std::uint64_t kWindowBytes = 256u << 20;

std::string stem_of(std::size_t shard) { return fmt::format("shard-{:06}", shard); }

ShardRecord record_of(const ShardJob& job, std::size_t shard) {
  const Format& format = find_format(job.options.format);
  ShardRecord record;
  record.file = stem_of(shard) + std::string(suffix_of(format, job.options.zstd_level));
  record.index = index_name_of(shard);
  return record;
}

fs::path receipt_of(const ShardJob& job, std::size_t shard) {
  return job.receipts / receipt_name_of(shard);
}

/// A shard's part of the plan.
struct Share {
  Share(const ShardJob& job, std::size_t shard)
      : begin(job.plan.shard_begin(shard)), end(job.plan.shard_begin(shard + 1)) {
    auto made = std::make_shared<SplitListing>();
    made->split = job.split.split;
    made->origin = job.split.origin;
    made->target_head = job.split.target_head;
    for (std::size_t p = begin; p < end; ++p)
      made->entries.add_from(job.split.entries, job.plan.entry(p));
    listing = std::move(made);
  }
  const EntryTable& entries() const { return listing->entries; }
  std::size_t size() const { return end - begin; }

  std::size_t begin, end;  ///< positions of the plan
  /// The entries of these positions, in the order of the plan: those of the split may lie in a
  /// file.
  std::shared_ptr<const SplitListing> listing;
};

std::string key_at(const ShardJob& job, const Share& share, std::size_t i) {
  return job.keep_keys ? job.source.key(*share.listing, i)
                       : key_of(share.begin + i, key_digits(job.plan.size()));
}

/// Some consecutive inputs of the plan on their way through the pipeline. Reused, so that buffers
/// are allocated only once.
struct Batch {
  std::vector<PackItem> items = std::vector<PackItem>(kBatchItems);
  std::size_t used = 0;
  bool large = false;  ///< holds one large input, which is prepared just before it is written
};

class ShardPacker {
 public:
  ShardPacker(const ShardJob& job, std::size_t shard, const Share& share, Progress& progress)
      : job_(job),
        share_(share),
        progress_(progress),
        preparer_(job.source, *share.listing, job.listing, job.options),
        index_(job.listing.stored_fields()) {
    outcome_.record = record_of(job, shard);
  }

  ShardOutcome run(const fs::path& receipt, const std::string& inputs) {
    run_pipeline();
    if (writer_) close();
    obey_stop();
    write_receipt(receipt, inputs, outcome_);
    return std::move(outcome_);
  }

 private:
  fs::path data_path() const { return job_.data / outcome_.record.file; }

  void close() {
    ShardLayout layout = writer_->close();
    writer_.reset();
    ShardRecord& record = outcome_.record;
    record.samples = index_.size();
    record.bytes = fs::file_size(data_path());
    record.sha256 = layout.sha256.empty() ? sha256_file(data_path()) : layout.sha256;
    index_.place(std::move(layout));
    StreamFile file(job_.data / record.index);
    index_.write(record.bytes, [&](Bytes piece) { file.write(piece); });
    record.index_bytes = file.position();
    record.index_sha256 = file.commit();
  }

  /// read, check, transform, hash (parallel) -> write (one at a time, in plan order)
  void run_pipeline() {
    std::vector<Batch> batches(job_.tokens);
    std::size_t next_batch = 0, written = next_;
    const auto first = tbb::make_filter<void, Batch*>(
        tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> Batch* {
          if (next_ == share_.size() || stop_.stop_requested()) {
            control.stop();
            return nullptr;
          }
          // At most `tokens` batches are in flight, and the last filter is in order, so the batch
          // whose turn it is again is no longer in use.
          Batch& batch = batches[next_batch++ % batches.size()];
          fill(batch);
          return &batch;
        });
    const auto prepare =
        tbb::make_filter<Batch*, Batch*>(tbb::filter_mode::parallel, [&](Batch* batch) {
          const StopScope scope(stop_);
          for (std::size_t i = 0; i < batch->used && !batch->large; ++i)
            prepare_item(batch->items[i]);
          return batch;
        });
    const auto write =
        tbb::make_filter<Batch*, void>(tbb::filter_mode::serial_in_order, [&](Batch* batch) {
          const StopScope scope(stop_);
          if (batch->large) prepare_item(batch->items.front());
          for (std::size_t i = 0; i < batch->used; ++i) write_item(batch->items[i]);
          written += batch->used;
        });
    // Isolated: a thread that waits here must not start on another shard and so pile shards on its
    // stack.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_pipeline(batches.size(), first & prepare & write); });
    obey_stop();
    // A failure elsewhere cancels this pipeline, too, and it then ends early without an error.
    if (written != share_.size()) throw Error(ErrorKind::kInterrupted, "another shard failed");
  }

  void prepare_item(PackItem& item) const { preparer_.prepare(item, item.position); }

  /// Takes the next inputs of the plan: up to kBatchBytes of them, or one large one.
  void fill(Batch& batch) {
    batch.used = 0;
    batch.large = false;
    std::uint64_t bytes = 0;
    while (next_ < share_.size() && batch.used < kBatchItems && bytes < kBatchBytes) {
      const std::uint64_t size = share_.entries().size_of(next_);
      if (size > kLargeInput && batch.used > 0) return;
      if (job_.read_ahead != nullptr && next_ == window_) read_ahead();
      batch.items[batch.used++].position = next_++;
      bytes += size;
      batch.large = size > kLargeInput;
      if (batch.large) return;
    }
  }

  /// Announces inputs one window ahead of those being read.
  void read_ahead() {
    const auto announce = [&](std::size_t begin) {
      std::vector<std::size_t> entries;
      std::uint64_t bytes = 0;
      for (std::size_t i = begin;
           i < share_.size() && entries.size() < kWindowItems && bytes < kWindowBytes; ++i) {
        entries.push_back(i);
        bytes += share_.entries().size_of(i);
      }
      const std::size_t end = begin + entries.size();
      if (!entries.empty()) job_.read_ahead->want(share_.listing, std::move(entries));
      return end;
    };
    if (announced_ == 0) announced_ = announce(next_);
    window_ = announced_;
    announced_ = announce(announced_);
  }

  /// Reserves exactly enough: vectors that grow by doubling would end up taking twice the memory.
  void reserve_index() {
    std::size_t path_bytes = 0;
    for (std::size_t i = 0; i < share_.size(); ++i) path_bytes += share_.entries().path_length(i);
    index_.reserve(share_.size(), path_bytes);
  }

  ShardSpec shard_spec() const {
    ShardSpec spec{job_.listing.classes, job_.listing.stored_fields(), job_.options.zstd_level,
                   share_.size()};
    if (find_transform(job_.options.image).keeps && spec.fields.empty()) {
      spec.expected = [this](std::size_t i) {
        const EntryTable::Facts facts = share_.entries().facts(i);
        return ExpectedSample{key_at(job_, share_, i), facts.label, facts.size};
      };
    }
    return spec;
  }

  void write_item(PackItem& item) {
    ++progress_.samples;
    if (!item.problem.empty()) {
      ++progress_.rejected;
      outcome_.may_change = outcome_.may_change || item.may_change;
      outcome_.rejects.emplace_back(printable(item.entry.path), std::move(item.problem));
      return;
    }
    if (!writer_) {
      reserve_index();
      writer_ = find_format(job_.options.format).open_writer(data_path(), shard_spec());
    }
    IndexEntry row;
    row.hash = item.hash;
    row.label = item.entry.label;
    row.image = item.image;
    row.key = key_at(job_, share_, item.position);
    row.path = std::move(item.entry.path);
    row.field_hashes = item.field_hashes;
    writer_->add({row.key, row.label, row.image, item.stored, item.fields});
    index_.add_unplaced(row);
    if (!item.note.empty()) ++outcome_.notes[std::string(item.note)];
    outcome_.objects.add(item.objects, item.turned);
    outcome_.counts.payload_bytes += item.stored.size();
    ++outcome_.counts.labels[row.label];
    outcome_.counts.kinds.insert(row.image.kind);
    outcome_.bytes_in += item.bytes_in();
    progress_.bytes += item.bytes_in();
    item.shrink();
  }

  const ShardJob& job_;
  const Share& share_;
  Progress& progress_;
  const std::stop_token stop_ = current_stop();  ///< for the threads of TBB
  std::size_t next_ = 0;                         ///< of the share, as all that follow
  std::size_t window_ = 0;                       ///< where the next window is announced
  std::size_t announced_ = 0;                    ///< everything before this is announced
  const ItemPreparer preparer_;
  std::unique_ptr<ShardWriter> writer_;
  ShardIndexWriter index_;
  ShardOutcome outcome_;
};

/// Names everything the shard's bytes depend on except the version of packhorse.
std::string fingerprint(const ShardJob& job, const Share& share) {
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    hash.update(as_bytes(text));
    hash.update(as_bytes(std::string_view("\0", 1)));
  };
  add(fmt::format("{} {}", find_format(job.options.format).version, name_of_making(job.options)));
  add(fmt::format("{}", fmt::join(job.listing.stored_fields(), " ")));
  if (job.listing.made_targets) add(job.listing.made_targets->fingerprint());
  if (job.listing.made_extras) add(job.listing.made_extras->fingerprint());
  for (const std::string& name : job.listing.classes) add(name);
  for (std::size_t i = 0; i < share.size(); ++i) {
    const EntryTable::Entry entry = share.entries()[i];
    add(entry.path);
    add(fmt::format("{} {} {} {} {} {}", key_at(job, share, i), entry.size, entry.stamp,
                    entry.label, entry.fields, entry.field_bytes));
  }
  return hash.finish();
}

/// The shard as an earlier run made it, with `kept` set; otherwise at most the version that made
/// it.
ShardOutcome earlier(const ShardJob& job, std::size_t shard, const std::string& inputs,
                     Progress& progress) {
  ShardOutcome outcome;
  outcome.record = record_of(job, shard);
  outcome.kept = read_receipt(receipt_of(job, shard), inputs, job.data, job.is_stored, outcome);
  if (!outcome.kept) return outcome;
  progress.samples += outcome.record.samples + outcome.rejects.size();
  progress.rejected += outcome.rejects.size();
  progress.bytes += outcome.bytes_in;
  return outcome;
}

}  // namespace

Plan plan_for(SplitListing& split, PlanOptions options) {
  if (options.shuffle && split.entries.in_file()) {
    split.entries.permute(Permutation(split.entries.size(), options.seed));
    options.shuffle = false;
  }
  return {split.entries, options};
}

std::string index_name_of(std::size_t shard) { return stem_of(shard) + std::string(kIndexSuffix); }
std::string receipt_name_of(std::size_t shard) { return stem_of(shard) + ".json"; }
fs::path data_path_of(const ShardJob& job, std::size_t shard) {
  return job.data / record_of(job, shard).file;
}

ShardOutcome pack_shard(const ShardJob& job, std::size_t shard, Progress& progress) {
  const Share share(job, shard);
  const std::string inputs = fingerprint(job, share);
  ShardOutcome before = earlier(job, shard, inputs, progress);
  if (before.kept) return before;
  remove_tree(receipt_of(job, shard));
  ShardOutcome made = ShardPacker(job, shard, share, progress).run(receipt_of(job, shard), inputs);
  made.other_version = std::move(before.other_version);
  return made;
}

std::optional<ShardOutcome> kept_shard(const ShardJob& job, std::size_t shard, Progress& progress) {
  ShardOutcome before = earlier(job, shard, fingerprint(job, Share(job, shard)), progress);
  return before.kept ? std::optional(std::move(before)) : std::nullopt;
}

}  // namespace packhorse

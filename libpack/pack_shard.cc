#include "pack_shard.h"

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/hash.h"
#include "packhorse/shard_index.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kInterrupted = "stopped on request";

/// One input on its way through the pipeline. Reused, so that its buffers are allocated once.
struct Item {
  std::size_t position = 0;
  EntryTable::Entry entry;
  Input input;
  std::vector<std::byte> output;
  Bytes stored;
  ImageInfo image;
  std::uint64_t hash = 0;
  std::string reason;       ///< why it is rejected; empty: it is not
  bool may_change = false;  ///< rejected for what the file system said, not for what the bytes are
};

/// Names everything the shard's bytes depend on.
std::string fingerprint(const ShardJob& job, std::size_t shard) {
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    hash.update(as_bytes(text));
    hash.update(as_bytes(std::string_view("\0", 1)));
  };
  add(fmt::format("{} {} {} {} {} {}", job.format.name, job.format.version, job.zstd_level,
                  job.transform.name, job.transform.settings(job.transform_options),
                  job.max_pixels));
  add(fmt::format("{}", fmt::join(job.fields, " ")));
  for (const std::string& name : job.classes) add(name);
  for (std::size_t p = job.plan.shard_begin(shard); p < job.plan.shard_begin(shard + 1); ++p) {
    const EntryTable::Entry entry = job.listing.entries[job.plan.entry(p)];
    add(entry.path);
    add(fmt::format("{} {} {} {} {} {}", p, entry.size, entry.stamp, entry.label, entry.fields,
                    entry.field_bytes));
  }
  return hash.finish();
}

class ShardPacker {
 public:
  ShardPacker(const ShardJob& job, std::size_t shard, Progress& progress,
              const std::stop_token& stop)
      : job_(job),
        shard_(shard),
        progress_(progress),
        stop_(stop),
        stem_(fmt::format("shard-{:06}", shard)),
        receipt_(job.receipts / (stem_ + ".json")) {
    outcome_.record.file = stem_ + std::string(suffix_of(job.format, job.zstd_level));
    outcome_.record.index = stem_ + ".index";
  }

  ShardOutcome run() {
    const std::string inputs = fingerprint(job_, shard_);
    if (std::optional<ShardOutcome> kept = keep(inputs)) return std::move(*kept);
    fs::remove(receipt_);
    write_shard();
    if (stop_.stop_requested()) throw Error(ErrorKind::kInterrupted, kInterrupted);
    write_receipt(inputs);
    return std::move(outcome_);
  }

 private:
  fs::path data_path() const { return job_.data / outcome_.record.file; }
  fs::path index_path() const { return job_.data / outcome_.record.index; }

  /// What an earlier run made of the same inputs, if it is all there still. A damaged receipt
  /// counts for nothing.
  std::optional<ShardOutcome> keep(const std::string& inputs) const try {
    if (!fs::exists(receipt_)) return std::nullopt;
    const Json json = Json::parse(read_text(receipt_));
    if (json.at("inputs") != inputs || json.at("may_change")) return std::nullopt;
    ShardOutcome outcome = outcome_;
    ShardRecord& record = outcome.record;
    record.samples = json.at("samples");
    record.bytes = json.at("bytes");
    record.index_bytes = json.at("index_bytes");
    record.sha256 = json.at("sha256");
    record.index_sha256 = json.at("index_sha256");
    outcome.bytes_in = json.at("bytes_in");
    for (const Json& reject : json.at("rejects"))
      outcome.rejects.push_back({reject.at(0), reject.at(1)});
    if (record.samples > 0 && !unchanged(record)) return std::nullopt;
    outcome.kept = true;
    progress_.samples += record.samples + outcome.rejects.size();
    progress_.rejected += outcome.rejects.size();
    progress_.bytes += outcome.bytes_in;
    return outcome;
  } catch (const Json::exception&) {
    return std::nullopt;
  }

  bool unchanged(const ShardRecord& record) const {
    return fs::exists(data_path()) && fs::exists(index_path()) &&
           fs::file_size(data_path()) == record.bytes &&
           sha256_file(index_path()) == record.index_sha256 &&
           sha256_file(data_path()) == record.sha256;
  }

  void write_receipt(const std::string& inputs) const {
    Json rejects = Json::array();
    for (const Reject& reject : outcome_.rejects) rejects.push_back({reject.path, reject.reason});
    const ShardRecord& record = outcome_.record;
    const Json json = {{"inputs", inputs},
                       {"samples", record.samples},
                       {"bytes", record.bytes},
                       {"index_bytes", record.index_bytes},
                       {"sha256", record.sha256},
                       {"index_sha256", record.index_sha256},
                       {"bytes_in", outcome_.bytes_in},
                       {"may_change", may_change_},
                       {"rejects", rejects}};
    write_file(receipt_, as_bytes(json.dump(1, ' ', false, Json::error_handler_t::replace)));
  }

  void write_shard() {
    run_pipeline();
    if (!writer_) return;
    const ShardLayout layout = writer_->close();
    writer_.reset();
    ShardRecord& record = outcome_.record;
    record.samples = rows_.size();
    record.bytes = fs::file_size(data_path());
    ShardIndexWriter index(job_.fields, !layout.frames.empty());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t n = job_.fields.size();
      rows_[i].range = layout.images.at(i);
      rows_[i].fields.assign(layout.fields.begin() + static_cast<std::ptrdiff_t>(i * n),
                             layout.fields.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
      if (!layout.frames.empty()) rows_[i].frame = layout.frames.at(i);
      index.add(rows_[i]);
    }
    const std::string text = index.serialise(record.bytes);
    record.index_bytes = text.size();
    record.index_sha256 = sha256(as_bytes(text));
    write_file(index_path(), as_bytes(text));
    record.sha256 = layout.sha256.empty() ? sha256_file(data_path()) : layout.sha256;
  }

  /// read and check (parallel) -> write (one at a time, in plan order)
  void run_pipeline() {
    std::vector<Item> items(job_.tokens);
    std::size_t next = job_.plan.shard_begin(shard_);
    std::size_t written = next;
    const std::size_t end = job_.plan.shard_begin(shard_ + 1);
    const auto first = tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order,
                                                     [&](tbb::flow_control& control) -> Item* {
                                                       if (next == end || stop_.stop_requested()) {
                                                         control.stop();
                                                         return nullptr;
                                                       }
                                                       // Items leave in order too, so the one that
                                                       // is due again is no longer in use.
                                                       Item& item = items[next % items.size()];
                                                       item.position = next++;
                                                       return &item;
                                                     });
    const auto prepare =
        tbb::make_filter<Item*, Item*>(tbb::filter_mode::parallel, [&](Item* item) {
          prepare_item(*item);
          return item;
        });
    const auto write =
        tbb::make_filter<Item*, void>(tbb::filter_mode::serial_in_order, [&](Item* item) {
          write_item(*item);
          ++written;
        });
    // Isolated: a thread that waits here must not start on another shard, deeper and deeper in its
    // stack.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_pipeline(items.size(), first & prepare & write); });
    if (stop_.stop_requested()) throw Error(ErrorKind::kInterrupted, kInterrupted);
    // A failure elsewhere cancels this pipeline too, and it then ends early without a word.
    if (written != end) throw Error(ErrorKind::kInterrupted, "another shard failed");
  }

  void prepare_item(Item& item) const {
    const std::size_t entry = job_.plan.entry(item.position);
    item.entry = job_.listing.entries[entry];
    item.reason.clear();
    item.may_change = false;
    try {
      job_.source.read(job_.listing, entry, item.input);
    } catch (const Error& error) {
      item.reason = error.what();
      item.may_change = true;
      return;
    }
    ProbeResult probe = probe_image(item.input.bytes, job_.max_pixels);
    if (!probe.info) {
      item.reason = std::move(probe.reason);
      return;
    }
    item.image = *probe.info;
    item.stored = transform_->apply(item.input.bytes, item.image, item.output).bytes;
    item.hash = xxh3(item.stored);
  }

  void write_item(Item& item) {
    ++progress_.samples;
    if (!item.reason.empty()) {
      ++progress_.rejected;
      may_change_ = may_change_ || item.may_change;
      outcome_.rejects.push_back({as_utf8(item.entry.path), std::move(item.reason)});
      return;
    }
    if (!writer_)
      writer_ = job_.format.open_writer(data_path(), {job_.classes, job_.fields, job_.zstd_level});
    IndexEntry row;
    row.hash = item.hash;
    row.label = item.entry.label;
    row.image = item.image;
    row.key = key_of(item.position);
    row.path = std::move(item.entry.path);
    writer_->add({row.key, row.label, row.image, item.stored, {}});
    rows_.push_back(std::move(row));
    outcome_.bytes_in += item.input.bytes.size();
    progress_.bytes += item.input.bytes.size();
  }

  const ShardJob& job_;
  const std::size_t shard_;
  Progress& progress_;
  const std::stop_token& stop_;
  const std::string stem_;
  const fs::path receipt_;
  const std::unique_ptr<Transform> transform_ = job_.transform.make(job_.transform_options);
  std::unique_ptr<ShardWriter> writer_;
  std::vector<IndexEntry> rows_;
  ShardOutcome outcome_;
  bool may_change_ = false;
};

}  // namespace

ShardOutcome pack_shard(const ShardJob& job, std::size_t shard, Progress& progress,
                        const std::stop_token& stop) {
  return ShardPacker(job, shard, progress, stop).run();
}

}  // namespace packhorse

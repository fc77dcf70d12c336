#include <algorithm>
#include <numeric>

#include "archive/archive_scan.h"
#include "archive/handles.h"
#include "archive/payloads.h"
#include "archive/tar_header.h"
#include "base/paths.h"
#include "formats/foreign_shard.h"
#include "formats/wds/layout.h"
#include "formats/wds/shard_samples.h"
#include "formats/wds/wds.h"

/// Plain tars of any writer, with ustar, GNU and pax headers. Samples, labels and fields follow the
/// rules by which packing reads them (shard_samples.h).
namespace packhorse::wds {

namespace fs = std::filesystem;

namespace {

constexpr int kForeignVersion = 1;

std::vector<std::byte> first_block(const fs::path& path) {
  const UniqueFd fd = open_for_reading(path);
  std::vector<std::byte> head(std::min<std::uint64_t>(kTarBlock, file_size(fd.get(), path)));
  read_exactly(fd.get(), 0, head, path);
  return head;
}

/// Refuses a compressed tar before it is opened: nothing in it can be read at random.
fs::path plain(const fs::path& path) {
  if (compression_of(first_block(path)) == Compression::kNone) return path;
  throw Error(ErrorKind::kUnsupported,
              "the shard is compressed, so single samples in it cannot be read", path,
              "convert it: `pack(SHARDS, OUT, format=wds)` reads compressed shards");
}

class TarShard final : public ForeignShard {
 public:
  TarShard(const fs::path& path, const FieldChoice& choice)
      : path_(plain(path)), payloads_({}), samples_(payloads_, choice), none_({}) {
    samples_.add_shard(path_);
    fields_ = samples_.fields();
    std::ranges::sort(fields_);
    for (const std::string& name : samples_.fields()) {
      const auto at = std::lower_bound(fields_.begin(), fields_.end(), name);
      numbers_.push_back(static_cast<std::size_t>(at - fields_.begin()));
    }
  }

  std::string layout() const override { return "webdataset"; }
  std::size_t size() const override { return samples_.found().entries.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<Reject>& rejects() const override { return samples_.found().rejects; }
  const std::vector<Skip>& skips() const override { return samples_.found().skips; }

  FoundSample found(std::size_t i) override {
    const EntryTable::Entry entry = samples_.found().entries[i];
    FoundSample sample;
    // The path is "<shard>/<member>".
    const std::size_t shard = path_.filename().native().size() + 1;
    sample.key = samples_.path_with_key(i).substr(shard);
    sample.image = {payloads_.offset_of(entry.locator), entry.size};
    sample.label = samples_.label_of(i);
    if (entry.fields != 0) {
      for (const Payloads::Field& field : payloads_.fields_of(entry)) {
        sample.fields.push_back(
            {numbers_[field.number], {payloads_.offset_of(field.locator), field.bytes}});
      }
    }
    std::ranges::sort(sample.fields,
                      [](const auto& a, const auto& b) { return a.field < b.field; });
    return sample;
  }

  StoredSample read(std::size_t i) override {
    const FoundSample sample = found(i);
    std::vector<ByteRange> ranges = {sample.image};
    for (const FoundSample::FoundField& field : sample.fields) ranges.push_back(field.range);
    buffers_.resize(std::max(buffers_.size(), ranges.size()));
    std::vector<std::size_t> order(ranges.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(
        order, [&](std::size_t a, std::size_t b) { return ranges[a].offset < ranges[b].offset; });
    for (const std::size_t piece : order) read_member(ranges[piece], buffers_[piece]);
    StoredSample stored{sample.key, -1, buffers_[0], {}};
    for (std::size_t f = 0; f < sample.fields.size(); ++f)
      stored.fields.push_back({fields_[sample.fields[f].field], buffers_[f + 1]});
    return stored;
  }

 private:
  /// Reads a member with libarchive: goes through the archive until data begin where the member's
  /// do.
  void read_member(ByteRange range, std::vector<std::byte>& out) {
    if (!walk_ || walk_->offset() >= range.offset)
      walk_ = std::make_unique<ArchiveScan>(path_, payloads_.fd(0), none_);
    while (walk_->next()) {
      const Member& member = walk_->member();
      if (walk_->offset() != range.offset || member.type != Member::Type::kFile ||
          member.size != range.length) {
        continue;
      }
      const Bytes bytes = walk_->load();
      out.assign(bytes.begin(), bytes.end());
      return;
    }
    throw Error(ErrorKind::kCorrupt, "a member is missing from the archive", path_);
  }

  fs::path path_;
  Payloads payloads_;
  ShardSamples samples_;
  Spool none_;
  std::vector<std::string> fields_;
  std::vector<std::size_t> numbers_;  ///< field in samples_ -> field in fields_
  std::unique_ptr<ArchiveScan> walk_;
  std::vector<std::vector<std::byte>> buffers_;
};

std::optional<fs::path> find_shard(const fs::path& named) {
  if (!is_file(named)) return std::nullopt;
  const std::vector<std::byte> head = first_block(named);
  const bool tar =
      is_tar_header(head) || (has_archive_name(named.filename().native()) && !is_zip(head));
  return tar ? std::optional(named) : std::nullopt;
}

std::unique_ptr<ForeignShard> open_shard(const fs::path& path, const ForeignOptions& options) {
  return std::make_unique<TarShard>(path, options.fields);
}

}  // namespace

const ForeignFormat kForeignFormat = {
    .name = "wds-any",
    .summary = "WebDataset tars of any writer",
    .version = kForeignVersion,
    .find = find_shard,
    .open = open_shard,
    .exported_indexes = &kExportedIndexes,
};

}  // namespace packhorse::wds

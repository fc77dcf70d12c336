#include "verify_shard.h"

#include <optional>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/format.h"
#include "packhorse/hash.h"
#include "packhorse/shard_index.h"
#include "verify_adopted.h"
#include "verify_bytes.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

class ShardVerifier {
 public:
  ShardVerifier(const fs::path& dataset, const Manifest& manifest, const ShardRecord& record,
                Progress& progress, const std::stop_token& stop)
      : dataset_(dataset), manifest_(manifest), record_(record), progress_(progress), stop_(stop) {}

  std::vector<Finding> run(VerifyLevel level) {
    const bool data_there = verify_file(dataset_, record_.file, record_.bytes, "", findings_);
    open_index();
    if (level == VerifyLevel::kFull && data_there) {
      const bool intact = bytes_are_right();
      if (intact && index_) check_structure();
    }
    progress_.samples += record_.samples;
    return std::move(findings_);
  }

 private:
  void add(std::string kind, std::string detail) {
    findings_.push_back({std::move(kind), record_.file, -1, {}, 0, 0, std::move(detail)});
  }

  void add_sample(std::string kind, std::size_t row, ByteRange range, std::string detail) {
    findings_.push_back(
        {std::move(kind), record_.file, static_cast<std::int64_t>(record_.first_sample + row),
         std::string(index_->key(row)), range.offset, range.length, std::move(detail)});
  }

  void open_index() {
    if (!verify_file(dataset_, record_.index, record_.index_bytes, record_.index_sha256, findings_))
      return;
    try {
      index_.emplace(dataset_ / record_.index);
    } catch (const Error& error) {
      add("index", error.what());
      return;
    }
    if (index_->size() != record_.samples || index_->data_bytes() != record_.bytes ||
        index_->fields() != manifest_.fields ||
        index_->compressed() != !manifest_.compress.empty()) {
      add("index", "the index does not fit the manifest");
      index_.reset();
    }
  }

  /// Reads every byte. True when the file is the one that was packed.
  bool bytes_are_right() try {
    const ShardBytes found = check_bytes(dataset_ / record_.file, record_.bytes,
                                         index_ ? &*index_ : nullptr, progress_, stop_);
    for (const DamagedPiece& piece : found.damage)
      add_sample("payload", piece.row, piece.range, piece.detail);
    if (found.sha256 == record_.sha256) return found.damage.empty();
    if (found.damage.empty()) {
      add("hash", index_ ? "SHA-256 differs; every image is intact, so the damage lies between them"
                         : "SHA-256 differs");
    }
    return false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt) throw;
    add("index", error.what());
    return false;
  }

  /// Walks the shard with the format's own library. Only done for files whose hash is right: on
  /// others those libraries may crash, and the damage is known already.
  void check_structure() {
    try {
      if (manifest_.adopted) return check_adopted_structure();
      const std::unique_ptr<ShardReader> reader =
          find_format(manifest_.format).open_reader(dataset_ / record_.file);
      if (reader->size() != index_->size()) {
        add("structure", "the shard holds " + std::to_string(reader->size()) +
                             " samples, its index names " + std::to_string(index_->size()));
        return;
      }
      for (std::size_t row = 0; row < index_->size(); ++row) {
        const StoredSample sample = reader->read(row);
        if (sample.key != index_->key(row) || sample.label != index_->label(row) ||
            xxh3(sample.bytes) != index_->hash(row)) {
          add_sample("structure", row, place_of(row),
                     "shard and index disagree about key, label or bytes");
        } else if (!has_fields_of(row, sample)) {
          add_sample("structure", row, place_of(row), "shard and index disagree about the fields");
        }
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      add("structure", error.what());
    }
  }

  void check_adopted_structure() {
    check_adopted(dataset_, manifest_, record_, *index_,
                  [this](std::optional<std::size_t> row, const std::string& detail) {
                    if (row) {
                      add_sample("structure", *row, place_of(*row), detail);
                    } else {
                      add("structure", detail);
                    }
                  });
  }

  ByteRange place_of(std::size_t row) const {
    return index_->compressed() ? index_->frame(row).stored : index_->range(row);
  }

  bool has_fields_of(std::size_t row, const StoredSample& sample) const {
    std::size_t given = 0;
    for (std::size_t field = 0; field < index_->fields().size(); ++field) {
      if (!index_->has_field(row, field)) continue;
      if (given == sample.fields.size()) return false;
      const Field& found = sample.fields[given++];
      if (found.name != index_->fields()[field] ||
          xxh3(found.bytes) != index_->field_hash(row, field)) {
        return false;
      }
    }
    return given == sample.fields.size();
  }

  const fs::path& dataset_;
  const Manifest& manifest_;
  const ShardRecord& record_;
  Progress& progress_;
  const std::stop_token& stop_;
  std::optional<ShardIndex> index_;
  std::vector<Finding> findings_;
};

}  // namespace

bool verify_file(const fs::path& dataset, const std::string& file, std::uint64_t bytes,
                 const std::string& sum, std::vector<Finding>& findings) {
  const auto add = [&](const char* kind, std::string detail) {
    findings.push_back({kind, file, -1, {}, 0, 0, std::move(detail)});
    return false;
  };
  std::error_code code;
  const std::uint64_t size = fs::file_size(dataset / file, code);
  if (code) return add("missing", "the file is not there, or cannot be read: " + code.message());
  if (size != bytes) {
    return add("size", "it has " + std::to_string(size) + " bytes, not " + std::to_string(bytes));
  }
  if (!sum.empty() && sha256_file(dataset / file) != sum) return add("hash", "SHA-256 differs");
  return true;
}

std::vector<Finding> verify_shard(const fs::path& dataset, const Manifest& manifest,
                                  const ShardRecord& record, VerifyLevel level, Progress& progress,
                                  const std::stop_token& stop) {
  return ShardVerifier(dataset, manifest, record, progress, stop).run(level);
}

}  // namespace packhorse

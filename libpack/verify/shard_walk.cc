#include <algorithm>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"
#include "codecs/described_image.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "verify/adopted.h"
#include "verify/payload_check.h"
#include "verify/shard.h"

namespace packhorse {

namespace {

class Walk {
 public:
  Walk(const WalkTask& task, std::atomic<std::int64_t>& row,
       const std::function<void(const WalkFinding&)>& report)
      : task_(task), row_(row), report_(report) {
    if (!task.index.empty()) index_.emplace(task.index);
  }

  /// Walks everything the library returns and compares it with the index.
  void structure() try {
    if (!task_.adopted.empty()) return adopted();
    const std::unique_ptr<ShardReader> reader = find_format(task_.format).open_reader(task_.data);
    if (index_ && reader->size() != index_->size()) {
      add(FindingKind::kStructure, "the shard holds " + std::to_string(reader->size()) +
                                       " samples, its index names " +
                                       std::to_string(index_->size()));
      return;
    }
    for (std::size_t row = 0; row < reader->size(); ++row) {
      at(row);
      const StoredSample sample = reader->read(row);
      if (index_) compare(row, sample);
    }
  } catch (const Error& error) {
    add(FindingKind::kStructure, error);
  }

  void decode() try {
    if (!index_) return;
    const UniqueFd fd = open_for_reading(task_.data);
    std::vector<std::byte> image;
    const std::size_t end = task_.first + std::min(task_.rows, index_->size() - task_.first);
    for (std::size_t row = task_.first; row < end; ++row) {
      at(row);
      try {
        read_image(fd.get(), task_.data, *index_, row, image);
        if (xxh3(image) == index_->hash(row)) {
          decode(image, index_->image(row));
        } else {
          add(FindingKind::kPayload, "the image's bytes are not the ones that were packed",
              /*about_bytes=*/true);
        }
      } catch (const Error& error) {
        add(FindingKind::kDecode, error);
      }
    }
  } catch (const Error& error) {
    add(FindingKind::kRead, error);
  }

 private:
  void adopted() {
    if (!index_) return;  // only the index says which of its samples count
    const Manifest manifest = Manifest::load(task_.adopted);
    for (const ShardRecord& record : manifest.shards) {
      if (task_.adopted / record.file != task_.data) continue;
      check_adopted(
          task_.adopted, manifest, record, *index_, [this](std::size_t row) { at(row); },
          [this](std::size_t row, Bytes image) { check_description(row, image); },
          [this](const std::string& what, bool about_bytes) {
            add(FindingKind::kStructure, what, about_bytes);
          });
    }
  }

  void decode(Bytes image, const ImageInfo& described) {
    const DescribedImage found = probe_described(image, described, task_.limits);
    switch (found.verdict) {
      case DescribedImage::Verdict::kFits:
        return decode_strictly(image, found.info);
      case DescribedImage::Verdict::kUnusable:
      case DescribedImage::Verdict::kUnsupported:
        return add(FindingKind::kDecode, found.reason);
      case DescribedImage::Verdict::kBeyondLimit:
        return add(FindingKind::kLimit, found.reason);
      case DescribedImage::Verdict::kOther:
        return add(FindingKind::kDescription, found.reason);
    }
  }

  /// Compares the index's description with intact bytes. Bytes that are no image at all are left
  /// for decode() to find.
  void check_description(std::size_t row, Bytes image) {
    constexpr auto kAny = ImageLimits::kNone;
    const DescribedImage found = probe_described(image, index_->image(row), {kAny, kAny, kAny});
    if (found.verdict == DescribedImage::Verdict::kOther)
      add(FindingKind::kDescription, found.reason);
  }

  void at(std::size_t row) {
    obey_stop();
    row_ = static_cast<std::int64_t>(row);
  }

  void add(FindingKind kind, std::string detail, bool about_bytes = false) {
    report_({kind, row_, about_bytes, std::move(detail)});
  }

  /// Reports an exception, as a finding of the `usual` kind unless reading failed.
  void add(FindingKind usual, const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw error;
    add(error.kind() == ErrorKind::kIo ? FindingKind::kRead : usual, error.what());
  }

  void compare(std::size_t row, const StoredSample& sample) {
    std::string what;
    const auto differs = [&](const std::string& name) {
      what += (what.empty() ? "" : ", ") + name;
    };
    if (sample.key != index_->key(row)) differs("the key");
    if (sample.label != index_->label(row)) differs("the label");
    const bool about_bytes = what.empty();
    const Bytes image = sample.image(index_->image(row).kind);
    const bool intact = xxh3(image) == index_->hash(row);
    if (!intact) differs("the image's bytes");
    if (!has_fields_of(row, sample)) differs("the fields");
    if (!what.empty())
      add(FindingKind::kStructure, "shard and index disagree about " + what, about_bytes);
    if (intact) check_description(row, image);
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

  const WalkTask& task_;
  std::atomic<std::int64_t>& row_;
  const std::function<void(const WalkFinding&)>& report_;
  std::optional<ShardIndex> index_;
};

}  // namespace

void walk(const WalkTask& task, std::atomic<std::int64_t>& row,
          const std::function<void(const WalkFinding&)>& report) {
  row = -1;
  Walk one(task, row, report);
  if (task.kind == WalkTask::Kind::kDecode) {
    one.decode();
  } else {
    one.structure();
  }
}

}  // namespace packhorse

#include "verify/shard.h"

#include <algorithm>
#include <tuple>

#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"
#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "verify/payload_check.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPixelsPerCpu = 1u << 20;
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 32;  // of an image; JPEG's largest

/// The amount of data in some rows of a shard.
struct Extent {
  std::uint64_t bytes = 0;    ///< decompressed
  std::uint64_t largest = 0;  ///< largest sample, with its fields
  std::uint64_t pixels = 0, largest_pixels = 0;
};

Extent extent_of(const ShardIndex& index, std::size_t first, std::size_t rows) {
  Extent extent;
  for (std::size_t row = first; row < first + rows; ++row) {
    std::uint64_t bytes =
        index.compressed() ? index.frame(row).content.length : index.range(row).length;
    for (std::size_t f = 0; f < index.fields().size(); ++f)
      bytes += index.has_field(row, f) ? index.field_range(row, f).length : 0;
    const ImageInfo image = index.image(row);
    const std::uint64_t pixels = std::uint64_t{image.width} * image.height;
    extent.bytes += bytes;
    extent.pixels += pixels;
    extent.largest = std::max(extent.largest, bytes);
    extent.largest_pixels = std::max(extent.largest_pixels, pixels);
  }
  return extent;
}

/// The finding that a file is not there. Rethrows what says nothing about the dataset. Call it
/// where `error` was caught.
Finding missing(const DatasetDirectory& dataset, const std::string& file, const Error& error) {
  if (dataset.remote() && error.kind() != ErrorKind::kNotFound &&
      error.kind() != ErrorKind::kCorrupt)
    throw;
  return {FindingKind::kMissing,
          file,
          -1,
          {},
          0,
          0,
          std::string("the file is not there, or cannot be read: ") + error.what()};
}

Finding wrong_size(const std::string& file, std::uint64_t size, std::uint64_t expected) {
  return {FindingKind::kSize,
          file,
          -1,
          {},
          0,
          0,
          "it has " + std::to_string(size) + " bytes, not " + std::to_string(expected)};
}

}  // namespace

ShardCheck::ShardCheck(const DatasetDirectory& dataset, const Manifest& manifest,
                       const ShardRecord& record, const VerifyOptions& options, ShardCopies* copies,
                       Meter& meter)
    : dataset_(dataset),
      manifest_(manifest),
      record_(record),
      options_(options),
      copies_(copies),
      meter_(meter) {}

void ShardCheck::open() {
  obey_stop();
  open_index();
  data_there_ = check_size();
  if (options_.level == VerifyLevel::kQuick) meter_.add(record_.samples);
}

/// Checks the data file's presence and size; for a file cut short, the finding counts the images
/// lost.
bool ShardCheck::check_size() {
  std::uint64_t size = 0;
  try {
    size = dataset_.size(record_.file, DatasetDirectory::links_of(manifest_));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    files_.push_back(missing(dataset_, record_.file, error));
    return false;
  }
  if (size <= record_.bytes || !dataset_.remote()) data_bytes_ = size;
  if (size == record_.bytes) return true;
  files_.push_back(wrong_size(record_.file, size, record_.bytes));
  Finding& finding = files_.back();
  if (size >= record_.bytes || !index_) return false;
  const auto is_cut = [&](std::size_t row) {
    return (index_->compressed() ? index_->frame(row).stored : index_->range(row)).end() > size;
  };
  std::size_t cut = 0, first = index_->size();
  for (std::size_t row = index_->size(); row-- > 0;) {
    if (!is_cut(row)) continue;
    ++cut;
    first = row;
  }
  if (cut == 0) return false;
  const std::string detail =
      finding.detail + ": " + std::to_string(cut) + " images are cut off, starting with this one";
  finding = about(FindingKind::kSize, static_cast<std::int64_t>(first), detail);
  return false;
}

void ShardCheck::open_index() {
  const std::size_t before = files_.size();
  const UniqueFd fd =
      verify_file(dataset_, record_.index, record_.index_bytes, record_.index_sha256, files_);
  if (files_.size() != before) return;
  const auto refuse = [&](std::string detail) {
    files_.push_back({FindingKind::kIndex, record_.index, -1, {}, 0, 0, std::move(detail)});
    index_.reset();
  };
  try {
    index_.emplace(fd.get(), dataset_.path() / record_.index);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    return refuse(error.what());
  }
  if (auto why = index_->why_not_of(record_, manifest_)) refuse(std::move(*why));
  if (!copies_ || !index_) return;
  std::vector<std::byte> content(record_.index_bytes);
  read_exactly(fd.get(), 0, content, dataset_.path() / record_.index);
  copies_->put(record_.index, content);
}

void ShardCheck::bytes() {
  bool intact = false;
  if (data_there_) try {
      const ShardBytes found = check_bytes(open_data().get(), data_path(), record_.bytes,
                                           index_ ? &*index_ : nullptr, meter_.progress());
      add_damage(found.damage);
      const bool whole = found.sha256 == record_.sha256;
      if (!whole && found.damage.empty()) {
        add(FindingKind::kHash,
            index_ ? "SHA-256 differs; every image is intact, so the damage is between them"
                   : "SHA-256 differs");
      }
      intact = whole && found.damage.empty();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCorrupt) throw;
      add(FindingKind::kIndex, error.what());
    }
  meter_.add(record_.samples);
  if (options_.walkers) return;
  if (intact && index_) {
    walk(task(WalkTask::Kind::kStructure));
    walked_ = true;
  } else {
    not_walked_ = data_bytes_.has_value();
  }
}

void ShardCheck::bytes_of(std::size_t first, std::size_t rows) {
  if (data_there_ && index_)
    add_damage(check_rows(open_data().get(), data_path(), *index_, first, rows, meter_.progress()));
  meter_.add(!options_.walkers ? rows : 2 * rows);  // their shard is walked in another part
}

void ShardCheck::structure() {
  if (options_.walkers && data_bytes_) {
    walk(task(WalkTask::Kind::kStructure));
    walked_ = true;
  }
  meter_.add(record_.samples);
}

void ShardCheck::decode(std::size_t first, std::size_t rows) {
  if (data_there_ && index_) {
    WalkTask images = task(WalkTask::Kind::kDecode);
    images.limits = options_.image_limits;
    const std::size_t end = first + rows;
    // A walk that ends early leaves a finding about the image it had reached; the next begins after
    // it.
    for (images.first = first; images.first < end; images.first = walk(images))
      images.rows = end - images.first;
  }
  meter_.add(rows);
}

WalkTask ShardCheck::task(WalkTask::Kind kind) const {
  return {kind, manifest_.format, root() / record_.file,
          index_ ? root() / record_.index : fs::path(), manifest_.adopted ? root() : fs::path()};
}

const fs::path& ShardCheck::root() const { return copies_ ? copies_->root() : dataset_.path(); }

fs::path ShardCheck::data_path() const { return dataset_.path() / record_.file; }

UniqueFd ShardCheck::open_data() const {
  if (copies_) return open_for_reading(root() / record_.file);
  return dataset_.open(record_.file, DatasetDirectory::links_of(manifest_));
}

WalkBounds ShardCheck::bounds(const WalkTask& task) const {
  const std::uint64_t bytes = *data_bytes_;
  const std::size_t samples = index_ ? index_->size() : 0;
  const std::size_t first = std::min<std::size_t>(task.first, samples);
  const std::size_t rows = std::min<std::size_t>(task.rows, samples - first);
  const Extent extent = index_ ? extent_of(*index_, first, rows) : Extent{bytes, bytes, 0, 0};
  WalkBounds bounds = bounds_for(bytes, extent.bytes);
  bounds.memory_bytes += 8 * extent.largest;  // the readers hold one or two samples
  if (task.kind == WalkTask::Kind::kDecode) {
    bounds.cpu_s += extent.pixels / kPixelsPerCpu;
    bounds.memory_bytes += 24 * std::min(extent.largest_pixels, kMostPixels);
  }
  if (options_.limits.cpu_s > 0) bounds.cpu_s = options_.limits.cpu_s;
  if (options_.limits.memory_bytes > 0) bounds.memory_bytes = options_.limits.memory_bytes;
  return bounds;
}

std::size_t ShardCheck::walk(const WalkTask& task) {
  std::size_t found = 0, next = task.first + task.rows;
  const auto report = [&](const WalkFinding& finding) {
    found += finding.row < 0 ? task.rows : 1;  // about the shard: none was decoded
    take(finding);
  };
  if (!options_.walkers) {
    std::atomic<std::int64_t> row{-1};
    packhorse::walk(task, row, report);
  } else {
    const WalkBounds some = bounds(task);
    const double wall_s = options_.limits.wall_s > 0 ? options_.limits.wall_s : wall_time(some);
    const auto take_line = [&](std::string_view line) {
      if (const std::optional<WalkFinding> finding = parse_finding(line)) report(*finding);
    };
    const WalkEnd end = options_.walkers->run(task, some, wall_s, take_line);
    take(task, end);
    if (end.kind != WalkEnd::Kind::kDone) {
      const auto row = static_cast<std::size_t>(end.row);
      // A walk that ended before its first image would end there again.
      if (end.row < 0 || row < task.first || row >= next) return next;
      next = row + 1;
      ++found;
    }
  }
  if (task.kind == WalkTask::Kind::kDecode) {
    const std::size_t rows = next - task.first;
    const std::scoped_lock lock(mutex_);
    decoded_ += rows - std::min(rows, found);
  }
  return next;
}

void ShardCheck::take(const WalkFinding& finding) {
  Finding one = about(finding.kind, finding.row, finding.detail);
  const std::scoped_lock lock(mutex_);
  walk_.push_back(std::move(one));
  bytes_only_.push_back(finding.about_bytes);
}

void ShardCheck::take(const WalkTask& task, const WalkEnd& end) {
  const bool decode = task.kind == WalkTask::Kind::kDecode;
  if (end.kind == WalkEnd::Kind::kDone) return;
  std::string what = decode ? words_of(end, "the decoder", "decoded")
                            : words_of(end, "the format's own library", "checked");
  take({decode ? FindingKind::kDecode : FindingKind::kStructure, end.row, false, std::move(what)});
}

void ShardCheck::add_damage(const std::vector<DamagedPiece>& damage) {
  const std::scoped_lock lock(mutex_);
  for (const DamagedPiece& piece : damage) {
    Finding& finding = payload_.emplace_back(
        about(FindingKind::kPayload, static_cast<std::int64_t>(piece.row), piece.detail));
    finding.offset = piece.range.offset;
    finding.length = piece.range.length;
  }
}

void ShardCheck::add(FindingKind kind, std::string detail) {
  const std::scoped_lock lock(mutex_);
  payload_.push_back({kind, record_.file, -1, {}, 0, 0, std::move(detail)});
}

Finding ShardCheck::about(FindingKind kind, std::int64_t row, std::string detail) const {
  Finding finding{kind, record_.file, -1, {}, 0, 0, std::move(detail)};
  const auto at = static_cast<std::size_t>(row);
  if (row < 0 || !index_ || at >= index_->size()) return finding;
  const ByteRange range = index_->compressed() ? index_->frame(at).stored : index_->range(at);
  finding.sample = static_cast<std::int64_t>(record_.first_sample + at);
  finding.key = index_->key(at);
  finding.offset = range.offset;
  finding.length = range.length;
  return finding;
}

std::vector<Finding> ShardCheck::findings() {
  std::vector<Finding> all = std::move(files_);
  std::vector<std::int64_t> damaged;
  const auto by_sample = [](const Finding& a, const Finding& b) { return a.sample < b.sample; };
  std::ranges::stable_sort(payload_, by_sample);
  for (Finding& finding : payload_) {
    damaged.push_back(finding.sample);
    all.push_back(std::move(finding));
  }
  std::vector<Finding> walked;
  for (std::size_t i = 0; i < walk_.size(); ++i) {
    // Bytes that are known to be damaged cannot come out intact, so this is nothing new.
    const bool known =
        bytes_only_[i] && std::binary_search(damaged.begin(), damaged.end(), walk_[i].sample);
    if (!known) walked.push_back(std::move(walk_[i]));
  }
  const auto what = [](const Finding& f) { return std::tie(f.sample, f.kind, f.detail); };
  std::ranges::stable_sort(walked,
                           [&](const Finding& a, const Finding& b) { return what(a) < what(b); });
  // The structure walk and the decode walk both look at the headers and may find the same.
  const auto again =
      std::unique(walked.begin(), walked.end(),
                  [&](const Finding& a, const Finding& b) { return what(a) == what(b); });
  all.insert(all.end(), walked.begin(), again);
  return all;
}

UniqueFd verify_file(const DatasetDirectory& dataset, const std::string& file, std::uint64_t bytes,
                     const std::string& sum, std::vector<Finding>& findings) {
  const fs::path path = dataset.path() / file;
  UniqueFd fd;
  std::uint64_t size = 0;
  bool same = false;
  // What comes from afar may have been damaged on the way, so it gets a second chance.
  for (int attempt = 0; attempt < (dataset.remote() ? 2 : 1) && !same; ++attempt) {
    try {
      fd = dataset.open_as_is(file, bytes);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      findings.push_back(missing(dataset, file, error));
      return {};
    }
    size = file_size(fd.get(), path);
    same = size == bytes && sha256_file(fd.get(), path) == sum;
  }
  if (size != bytes) {
    findings.push_back(wrong_size(file, size, bytes));
  } else if (!same) {
    findings.push_back({FindingKind::kHash, file, -1, {}, 0, 0, "SHA-256 differs"});
  }
  return fd;
}

}  // namespace packhorse

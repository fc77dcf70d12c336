#include <algorithm>
#include <atomic>
#include <mutex>

#include "annotations/write/notation_writer.h"
#include "annotations/write/yolo_writer.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/stop.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packing/unpack_files.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// A dataset with objects.
class NotedSource {
 public:
  explicit NotedSource(const fs::path& path) : dataset_(path) {
    const Manifest& manifest = dataset_.manifest();
    const auto found = std::ranges::find(manifest.targets, "objects", &TargetRecord::kind);
    if (found != manifest.targets.end()) target_ = *found;
    field_ = place_of(target_.name);
    if (field_ == kNoField)
      throw Error(ErrorKind::kUsage, "the dataset has no objects to write", path,
                  "unpack it as a folder, or pack the source with `targets=`");
    text_ = place_of(target_.text);
    told_by_text_ = target_.text == "json" && text_ != kNoField;
    for (std::size_t shard = 0; told_by_text_ && shard < dataset_.shards(); ++shard) {
      const auto held = dataset_.index(shard);
      const ShardIndex& index = *held;
      for (std::size_t row = 0; row < index.size(); ++row)
        told_by_text_ = told_by_text_ && index.has_field(row, text_) &&
                        index.image(row).kind != ImageKind::kRaw;
    }
  }

  const PackedDataset& dataset() const { return dataset_; }
  const TargetRecord& target() const { return target_; }
  bool told_by_text() const { return told_by_text_; }

  /// The text of a sample; empty where it has none. `buffer` keeps it.
  std::string_view text(std::size_t sample, std::vector<std::byte>& buffer) const {
    const bool there = text_ != kNoField && dataset_.read_field(sample, text_, buffer);
    return there ? as_text(buffer) : std::string_view();
  }

  Objects objects(std::size_t sample, std::vector<std::byte>& buffer) const {
    if (!dataset_.read_field(sample, field_, buffer))
      throw Error(ErrorKind::kCorrupt, "its field '" + target_.name + "' is missing");
    Objects objects = decode_objects(buffer);
    for (const std::int32_t label : objects.labels) {
      if (label < 0 || static_cast<std::size_t>(label) >= target_.classes.size())
        throw Error(ErrorKind::kCorrupt, "an object has no class");
    }
    const std::size_t each =
        objects.keypoints_each.empty() ? target_.keypoints.size() : objects.keypoints_each.front();
    if (each != target_.keypoints.size())
      throw Error(ErrorKind::kCorrupt, "its objects have other key points than the dataset");
    return objects;
  }

  /// What no notation says of a dataset.
  void count_unsaid(Unsaid& unsaid) const {
    if (dataset_.classes().size() > 1) unsaid["images' own classes"] += dataset_.size();
    for (std::size_t field = 0; field < dataset_.fields().size(); ++field) {
      if (field == field_ || field == text_) continue;
      std::uint64_t count = 0;
      for (std::size_t shard = 0; shard < dataset_.shards(); ++shard) {
        for (std::size_t row = 0; row < dataset_.index(shard)->size(); ++row)
          if (dataset_.index(shard)->has_field(row, field)) ++count;
      }
      if (count > 0) unsaid["fields '" + dataset_.fields()[field] + "'"] += count;
    }
  }

 private:
  static constexpr std::size_t kNoField = ~std::size_t{0};
  std::size_t place_of(const std::string& name) const {
    const auto found = std::ranges::find(dataset_.fields(), name);
    return found == dataset_.fields().end()
               ? kNoField
               : static_cast<std::size_t>(found - dataset_.fields().begin());
  }

  PackedDataset dataset_;
  TargetRecord target_;
  std::size_t field_ = kNoField, text_ = kNoField;
  bool told_by_text_ = false;
};

/// Unpacks one dataset.
class NotationUnpacker {
 public:
  NotationUnpacker(const NotedSource& source, NotationWriter& writer, const fs::path& out,
                   Progress& progress)
      : source_(source), writer_(writer), out_(out), progress_(progress) {}

  void run(UnpackReport& report) {
    const PackedDataset& dataset = source_.dataset();
    run_parallel(available_cpus(), dataset.shards(), [&](std::size_t shard) { images_of(shard); });
    for (std::size_t shard = 0; shard < dataset.shards(); ++shard) annotations_of(shard);
    report.bytes += writer_.finish();
    source_.count_unsaid(unsaid_);
    for (const auto& [what, count] : unsaid_) report.unsaid[what] += count;
    report.samples += dataset.size();
    report.objects += objects_;
    report.bytes += bytes_;
  }

 private:
  /// Calls `use(sample, key)` for each sample of a shard; what it throws is given the sample's
  /// name.
  template <class Use>
  void for_each_sample(std::size_t shard, Unsaid& unsaid, const Use& use) {
    const PackedDataset& dataset = source_.dataset();
    std::vector<std::byte> text_buffer, objects_buffer;
    for (std::size_t row = 0; row < dataset.index(shard)->size(); ++row) {
      obey_stop();
      const std::uint64_t number = dataset.manifest().shards[shard].first_sample + row;
      const std::string key(dataset.index(shard)->key(row));
      const fs::path path = unpacked_path(dataset, shard, row);
      try {
        const std::string_view text = source_.text(number, text_buffer);
        const Objects objects = source_.objects(number, objects_buffer);
        const ImageInfo image = dataset.image(number);
        fs::path place = image_file_path(writer_.place(path, text, unsaid), image);
        use(NotedSample{number, std::move(place), image, objects, text}, key);
      } catch (const Error& error) {
        if (!error.path().empty()) throw;
        throw Error(error.kind(), error.what(), dataset.data_path(shard), error.advice(), key);
      }
    }
  }

  void images_of(std::size_t shard) {
    FileUnpacker files(progress_, bytes_);
    Unsaid unsaid;
    for_each_sample(shard, unsaid, [&](const NotedSample& sample, const std::string& key) {
      files.write_image(source_.dataset(), sample.number, out_ / writer_.images() / sample.place,
                        key);
      if (const auto own = writer_.own_file(sample, unsaid))
        files.write(out_ / own->path, as_bytes(own->text), key);
      ++progress_.samples;
    });
    const std::scoped_lock lock(mutex_);
    for (const auto& [what, count] : unsaid) unsaid_[what] += count;
  }

  void annotations_of(std::size_t shard) {
    Unsaid counted_already;
    for_each_sample(shard, counted_already, [&](const NotedSample& sample, const std::string&) {
      writer_.add(sample);
      objects_ += sample.objects.size();
    });
  }

  const NotedSource& source_;
  NotationWriter& writer_;
  const fs::path& out_;
  Progress& progress_;
  std::atomic<std::uint64_t> bytes_{0};
  std::uint64_t objects_ = 0;
  std::mutex mutex_;
  Unsaid unsaid_;
};

void refuse_different(const NotedSource& a, const NotedSource& b) {
  if (a.target().classes == b.target().classes && a.target().keypoints == b.target().keypoints)
    return;
  throw Error(ErrorKind::kUsage, "its splits have objects of different classes or key points",
              b.dataset().path(), "unpack them one by one");
}

}  // namespace

UnpackReport unpack_as_notation(const std::vector<fs::path>& datasets, bool splits,
                                const fs::path& out, UnpackAs as, Progress& progress) {
  std::vector<std::unique_ptr<NotedSource>> sources;
  std::vector<std::string> names;
  for (const fs::path& path : datasets) {
    sources.push_back(std::make_unique<NotedSource>(path));
    names.push_back(splits ? path.filename().string() : std::string());
    progress.total_samples += sources.back()->dataset().size();
    refuse_different(*sources.front(), *sources.back());
  }
  UnpackReport report;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const NotedSource& source = *sources[i];
    const auto writer =
        make_notation_writer(as, {names[i], source.target(), out, source.told_by_text()});
    NotationUnpacker(source, *writer, out, progress).run(report);
  }
  if (as == UnpackAs::kYolo) {
    const std::string text = yolo_data(names, sources.front()->target());
    write_plain_file(out / "data.yaml", as_bytes(text));
    report.bytes += text.size();
  }
  return report;
}

}  // namespace packhorse

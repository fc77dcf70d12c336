#include "packhorse/packing/dataset_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "annotations/extra_targets.h"
#include "base/file.h"
#include "base/stop.h"
#include "codecs/image_header.h"
#include "formats/format.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/base/error.h"
#include "packing/added_labels.h"
#include "packing/added_samples.h"
#include "packing/pack_job.h"
#include "packing/staging.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

/// Refuses options about a source, which would change nothing.
void refuse_source_options(const PackOptions& options) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUsage, std::string(what) + " has no effect on samples that are added",
                {}, "leave it out");
  };
  if (!options.source_kind.empty()) refuse("a kind of source");
  if (!options.list.labels.empty()) refuse("a labels file or pattern");
  if (options.list.split_folders) refuse("a list of split folders");
  if (options.list.classes_at > 0) refuse("the depth of class folders");
  if (options.list.fields.names) refuse("a choice of fields");
  if (!options.list.targets.empty()) refuse("annotation files");
  if (options.list.allow_odd_classes) refuse("accepting odd class folders");
  if (options.dry_run) refuse("a dry run");
  if (options.task || options.finish) refuse("packing in tasks");
}

fs::path checked(fs::path out, const PackOptions& options) {
  options.validate();
  refuse_source_options(options);
  refuse_url(out.native());
  check_target({}, out, options.overwrite);
  return out;
}

/// What the manifest says of the objects. Throws Error(kUsage) where they have no place.
std::vector<TargetRecord> checked_targets(const ObjectNames& objects, const PackOptions& options) {
  std::vector<TargetRecord> targets = record_of(objects);
  if (targets.empty()) return targets;
  const Format& format = find_format(options.format);
  if (!format.carries_fields)
    throw Error(ErrorKind::kUsage,
                fmt::format("the format {} cannot hold the objects of images", format.name), {},
                "choose another format, or leave the objects' classes out");
  refuse_cutting(options);
  return targets;
}

/// The field of the sample's caption. Throws Error(kUsage).
Field caption_field(const NewSample& sample) try {
  const Bytes text = as_bytes(*sample.caption);
  check_caption(text);
  return {kCaptionField, text};
} catch (const Error& error) {
  throw Error(ErrorKind::kUsage, error.what(), {}, "give a text", std::string(sample.key));
}

/// The sample's image, after all checks. `known`: kRaw for pixels. Throws Error(kRejected).
ImageInfo checked_image(const NewSample& sample, const ImageInfo& known,
                        const ImageLimits& limits) {
  const ProbeResult probe = check_image(sample.image, known, limits, sample.path);
  if (probe.info) return *probe.info;
  throw Error(ErrorKind::kRejected, "the image cannot be packed: " + probe.reason, {},
              probe.beyond_limits() ? "raise the limit, or leave the image out"
                                    : "give a whole image file of a kind that packs",
              std::string(sample.key), probe.code);
}

/// The image that pixels are packed as. Throws Error(kUsage | kRejected).
ImageInfo checked_pixels(const NewSample& sample, const ImageLimits& limits) {
  constexpr std::uint32_t kLongestSide = 1'000'000;  // libpng's limit
  const NewSample::PixelShape& shape = *sample.pixels;
  const auto refuse = [&](const std::string& what, const char* advice) {
    throw Error(ErrorKind::kUsage, what, {}, advice, std::string(sample.key));
  };
  if (shape.channels != 1 && shape.channels != 3) {
    refuse(fmt::format("pixels of {} channels", shape.channels), "give grey or RGB pixels");
  }
  if (shape.width == 0 || shape.height == 0 || shape.width > kLongestSide ||
      shape.height > kLongestSide) {
    refuse(fmt::format("pixels of {} x {}", shape.width, shape.height),
           "give from 1 to 1,000,000 pixels in each direction");
  }
  const std::uint64_t pixels = std::uint64_t{shape.width} * shape.height;
  if (sample.image.size() != pixels * shape.channels)
    refuse("the bytes are not the pixels their size says", "give all of them");
  checked_image(sample, {ImageKind::kRaw, shape.channels, 8, 1, shape.width, shape.height}, limits);
  return {ImageKind::kPng, shape.channels, 8, 1, shape.width, shape.height};
}

}  // namespace

class DatasetWriter::State {
 public:
  State(fs::path out, PackOptions options, ObjectNames objects)
      : options_(std::move(options)),
        objects_(std::move(objects)),
        out_(checked(std::move(out), options_)),
        samples_(std::make_unique<AddedSamples>(
            options_.list.classes, checked_targets(objects_, options_),
            find_transform(options_.image).decodes ? AddedSamples::PixelFile::kPnm
                                                   : AddedSamples::PixelFile::kPng,
            fs::absolute(out_).parent_path())),
        staging_(out_, Staging::Hold::kAlone, "write\n") {}
  /// A process made by fork() shares the staging directory, but it is not its to remove.
  ~State() {
    if (::getpid() == process_) staging_.abandon();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void add(const NewSample& sample) {
    refuse_other_process();
    refuse_fields(sample);
    const ImageInfo image = sample.pixels ? checked_pixels(sample, options_.limits)
                                          : checked_image(sample, {}, options_.limits);
    NewSample complete = sample;
    std::vector<Field> fields(sample.fields.begin(), sample.fields.end());
    std::vector<std::byte> objects;
    if (!objects_.classes.empty()) {
      objects = encode_added(sample, image, objects_);
      fields.push_back({kObjectsField, objects});
    }
    if (sample.caption) fields.push_back(caption_field(sample));
    complete.fields = fields;
    try {
      samples_->add(complete, image.kind);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNoSpace) throw;
      throw Error(ErrorKind::kNoSpace, "no space left for the samples that wait to be packed",
                  error.path(), "the disk must hold them twice: free some space, or choose another",
                  std::string(sample.key));
    }
    ++added_;
    has_captions_ = has_captions_ || sample.caption;
  }

  std::uint64_t added() const { return added_; }

  PackReport finish(Progress& progress) {
    refuse_other_process();
    PackJob job;
    job.options = std::move(options_);
    if (has_captions_)
      samples_->describe({.name = std::string(kCaptionField), .kind = std::string(kCaptionTarget)});
    job.source = std::move(samples_);
    job.sink = folder_sink({}, out_, job.options.overwrite);
    if (added_ == 0)
      throw Error(ErrorKind::kUsage, "no sample was added", out_, "add the samples first");
    job.listing = job.source->list({});
    plan_job(job, progress);
    PackReport report = run_job(job, out_, staging_, progress);
    report.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    report.rejects_file.clear();  // it goes with the staging directory
    return report;
  }

 private:
  void refuse_other_process() const {
    if (::getpid() == process_) return;
    throw Error(ErrorKind::kUsage, "this writer was made by another process, before a fork", out_,
                "add and finish in the process that made it");
  }

  void refuse_fields(const NewSample& sample) const {
    if (sample.objects != nullptr && objects_.classes.empty())
      throw Error(ErrorKind::kUsage, "the sample has objects, but the dataset no classes of them",
                  {}, "give the writer the classes of the objects", std::string(sample.key));
    const Format& format = find_format(options_.format);
    if ((sample.fields.empty() && !sample.caption) || format.carries_fields) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("the format {} cannot hold extra fields", format.name), {},
                "choose another format, or leave the fields out", std::string(sample.key));
  }

  const ::pid_t process_ = ::getpid();
  const Clock::time_point begin_ = Clock::now();
  PackOptions options_;
  const ObjectNames objects_;
  const fs::path out_;
  std::unique_ptr<AddedSamples> samples_;
  Staging staging_;  ///< last: nothing may fail once it is there, since ~State() gives it back
  std::uint64_t added_ = 0;
  bool has_captions_ = false;
};

DatasetWriter::DatasetWriter(fs::path out, PackOptions options, ObjectNames objects)
    : state_(std::make_unique<State>(std::move(out), std::move(options), std::move(objects))) {}

DatasetWriter::~DatasetWriter() = default;
DatasetWriter::DatasetWriter(DatasetWriter&&) noexcept = default;
DatasetWriter& DatasetWriter::operator=(DatasetWriter&&) noexcept = default;

namespace {

[[noreturn]] void refuse_ended() {
  throw Error(ErrorKind::kUsage, "the dataset is finished or given up", {}, "make a new writer");
}

}  // namespace

void DatasetWriter::add(const NewSample& sample) {
  if (!state_) refuse_ended();
  state_->add(sample);
}

std::uint64_t DatasetWriter::size() const { return state_ ? state_->added() : 0; }

PackReport DatasetWriter::finish(Progress* progress, std::stop_token stop) {
  if (!state_) refuse_ended();
  const std::unique_ptr<State> ending = std::move(state_);
  const StopScope scope(stop);
  Progress unseen;
  return ending->finish(progress != nullptr ? *progress : unseen);
}

void DatasetWriter::abandon() noexcept { state_.reset(); }

}  // namespace packhorse

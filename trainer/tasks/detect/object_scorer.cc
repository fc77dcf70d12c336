#include "tasks/detect/object_scorer.h"

#include <limits>

#include "input/prefetcher.h"
#include "loader/targets_reader.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/decode.h"
#include "packhorse/trainer/parallel/processes.h"
#include "tasks/detect/family.h"

namespace packhorse::trainer {

namespace {

/// What a detector's outputs say of the pictures of a dataset.
class PictureFinder {
 public:
  PictureFinder(const Recipe& recipe, const DetectionRules& rules,
                std::shared_ptr<const reader::Dataset> dataset, const ImageLimits& limits)
      : augment_(letterbox(recipe)),
        rules_(rules),
        dataset_(std::move(dataset)),
        decoder_({.limits = limits}) {}

  const reader::Dataset& dataset() const { return *dataset_; }

  std::vector<SeenPicture> find(const at::Tensor& outputs, const DeviceBatch& batch) {
    const std::size_t size = batch.samples.size();
    std::vector<SeenPicture> all(size);
    std::vector<reader::Placement> placements(size);
    std::vector<reader::Rect> places(size);  // empty for what was left out
    for (std::size_t i = 0; i < size; ++i) {
      if (batch.samples[i] == reader::kLeftOut) continue;
      all[i] = described(batch.samples[i]);
      const int width = all[i].width, height = all[i].height;
      placements[i] =
          reader::plan_picture(augment_, {0, 0, all[i].sample}, 0, width, height, {}).placement;
      places[i] = around(placements[i].matrix(),
                         {0, 0, static_cast<double>(width), static_cast<double>(height)});
    }
    std::vector<std::vector<Detection>> found = find_objects(outputs, rules_, places);
    std::vector<SeenPicture> pictures;
    for (std::size_t i = 0; i < size; ++i) {
      if (batch.samples[i] == reader::kLeftOut) continue;
      for (Detection& one : found[i])
        one.box = in_picture(one.box, placements[i], all[i].width, all[i].height);
      all[i].detections = std::move(found[i]);
      pictures.push_back(std::move(all[i]));
    }
    return pictures;
  }

 private:
  SeenPicture described(std::uint64_t sample) {
    ImageInfo info = dataset_->image(sample);
    if (info.width == 0) info = header_of(sample);
    const bool swap = info.orientation >= 5;
    return {.sample = sample,
            .info = info,
            .width = static_cast<int>(swap ? info.height : info.width),
            .height = static_cast<int>(swap ? info.width : info.height)};
  }

  ImageInfo header_of(std::uint64_t sample) {
    try {
      return decoder_.header(dataset_->view(sample, bytes_).bytes);
    } catch (const Error& error) {
      throw error_at(*dataset_, sample, error);
    }
  }

  reader::DetectionAugment augment_;
  DetectionRules rules_;
  std::shared_ptr<const reader::Dataset> dataset_;
  reader::Decoder decoder_;
  std::vector<std::byte> bytes_;
};

class ObjectScorer final : public Scorer {
 public:
  ObjectScorer(const Recipe& recipe, std::shared_ptr<const reader::Dataset> dataset,
               ScorerOptions options)
      : finder_(recipe, family_of(recipe).rules(recipe.image_size, recipe.image_size),
                std::move(dataset), options.limits),
        reader_(finder_.dataset()),
        observer_(std::move(options.observer)),
        classes_(objects_of(finder_.dataset()).classes.size()),
        found_(classes_) {}

  void add(const at::Tensor& outputs, const DeviceBatch& batch) override {
    for (SeenPicture& picture : finder_.find(outputs, batch)) {
      try {
        add_truth(picture);
        found_.add(picture.sample, picture.objects, picture.detections);
      } catch (const Error& error) {
        throw error_at(finder_.dataset(), picture.sample, error);
      }
      if (observer_) observer_(picture);
    }
  }

  void join(const Processes& processes) override {
    if (processes.size() == 1) return;
    DetectionScores all(classes_);
    for (const std::vector<std::byte>& part : processes.gather(found_.serialise())) all.merge(part);
    found_ = std::move(all);
  }

  Scores scores() const override {
    const auto whole = std::make_shared<const DetectionReport>(found_.report());
    const DetectionReport& report = *whole;
    const auto of = [](const DetectionReport::Score& score) {
      return score.value_or(std::numeric_limits<double>::quiet_NaN());
    };
    return {.task = TaskKind::kDetect,
            .images = report.images,
            .values = {of(report.ap), of(report.ap50), of(report.ap75), of(report.ap_small),
                       of(report.ap_medium), of(report.ap_large), of(report.recall1),
                       of(report.recall10), of(report.recall100)},
            .detection = whole};
  }

 private:
  void add_truth(SeenPicture& picture) {
    const Objects objects =
        reader::upright(reader_.read(picture.sample, picture.info, bytes_).objects, picture.info);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const Box& box = objects.boxes[i];
      const PlainBox plain = {box.left, box.top, double(box.right) - double(box.left),
                              double(box.bottom) - double(box.top)};
      picture.objects.push_back({.box = plain,
                                 .label = objects.labels[i],
                                 .area = objects.areas.empty() ? plain.area() : objects.areas[i],
                                 .crowd = (objects.flags[i] & kCrowd) != 0});
    }
  }

  PictureFinder finder_;
  reader::TargetsReader reader_;
  PictureObserver observer_;
  std::size_t classes_;
  DetectionScores found_;
  std::vector<std::byte> bytes_;
};

class ObjectTeller final : public Scorer {
 public:
  ObjectTeller(PictureFinder finder, PictureObserver observer)
      : finder_(std::move(finder)), observer_(std::move(observer)) {}
  void add(const at::Tensor& outputs, const DeviceBatch& batch) override {
    for (const SeenPicture& picture : finder_.find(outputs, batch)) observer_(picture);
  }
  void join(const Processes&) override {}
  Scores scores() const override { return {}; }

 private:
  PictureFinder finder_;
  PictureObserver observer_;
};

}  // namespace

const TargetRecord& objects_of(const reader::Dataset& dataset) {
  for (const TargetRecord& target : dataset.targets())
    if (target.kind == kObjectsTarget) return target;
  throw Error(ErrorKind::kUsage, "the dataset has no objects", {},
              "pack it with its annotations: `pack(targets=...)` (docs/annotations.md)");
}

/// How pictures are put into the network's input when nothing is left to chance.
reader::DetectionAugment letterbox(const Recipe& recipe) {
  return {.size = {recipe.image_size, recipe.image_size}};
}

std::unique_ptr<Scorer> make_object_scorer(const Recipe& recipe,
                                           std::shared_ptr<const reader::Dataset> dataset,
                                           ScorerOptions options) {
  return std::make_unique<ObjectScorer>(recipe, std::move(dataset), std::move(options));
}

std::unique_ptr<Scorer> make_object_teller(const Recipe& recipe, const DetectionRules& rules,
                                           std::shared_ptr<const reader::Dataset> dataset,
                                           ScorerOptions options) {
  return std::make_unique<ObjectTeller>(
      PictureFinder(recipe, rules, std::move(dataset), options.limits),
      std::move(options.observer));
}

}  // namespace packhorse::trainer

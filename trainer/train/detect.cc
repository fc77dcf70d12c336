#include "packhorse/trainer/train/detect.h"

#include <algorithm>
#include <optional>

#include "input/prefetcher.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/train/evaluate.h"
#include "tasks/detect/family.h"
#include "tasks/detect/object_scorer.h"
#include "train/engine.h"
#include "train/run_state.h"
#include "train/saved_model.h"
#include "train/scoring.h"

namespace packhorse::trainer {

struct ObjectDetector::Impl {
  DetectorOptions options;
  RunState state;
  std::unique_ptr<const Task> task;
  std::optional<Engine> engine;
};

namespace {

/// A checkpoint's classes may be called otherwise, but not by each other's names.
void refuse_other_numbers(const std::vector<std::string>& model,
                          const std::vector<std::string>& given,
                          const std::filesystem::path& file) {
  for (std::size_t i = 0; i < std::min(model.size(), given.size()); ++i) {
    if (given[i] == model[i] || std::ranges::find(model, given[i]) == model.end()) continue;
    throw Error(ErrorKind::kUsage,
                "the classes given have other numbers than those of the weights, which are a "
                "checkpoint's: " +
                    difference_of_classes(model, given),
                file, "give it as `checkpoint=`, which needs no `classes=`");
  }
}

}  // namespace

ObjectDetector::ObjectDetector(DetectorOptions given) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(given);
  const DetectorOptions& options = impl_->options;
  ModelFile file = options.model;
  if (!file.recipe.task) file.recipe.task = TaskKind::kDetect;
  const SavedModel model(std::move(file));
  impl_->state = model.state();
  if (!model.is_checkpoint()) impl_->state.classes = as_utf8(options.classes);
  const Recipe& recipe = impl_->state.recipe;
  if (recipe.task != TaskKind::kDetect)
    throw Error(ErrorKind::kUsage,
                "the network is not one that finds objects, but for the task " +
                    std::string(name_of(recipe.task)),
                options.model.path(), "give what `fit(task=detect)` has made");
  impl_->task = make_task(recipe);
  impl_->engine.emplace(recipe, static_cast<std::int64_t>(classes().size()),
                        EngineOptions{.device = options.device});
  refuse_other_numbers(model.load_into(*impl_->engine), classes(), options.model.path());
}

ObjectDetector::~ObjectDetector() = default;

const std::vector<std::string>& ObjectDetector::classes() const { return impl_->state.classes; }
const Recipe& ObjectDetector::recipe() const { return impl_->state.recipe; }

std::vector<reader::BadSample> ObjectDetector::run(
    const std::shared_ptr<const reader::Dataset>& dataset, const PictureObserver& observer,
    const std::stop_token& stop) {
  if (dataset->size() == 0) return {};
  const DetectorOptions& options = impl_->options;
  reader::LoaderOptions loading;
  loading.batch_size =
      std::min<std::int64_t>(options.batch_size, static_cast<std::int64_t>(dataset->size()));
  loading.workers = options.workers;
  loading.limits = options.limits;
  loading.order = reader::OrderKind::kSequential;
  loading.tail = reader::Tail::kKeep;
  loading.bad_samples = options.bad_samples;
  if (loading.bad_samples.policy == reader::BadSamplePolicy::kReplace)
    loading.bad_samples.policy = reader::BadSamplePolicy::kLeaveOut;
  loading.allocator = slot_allocator(options.device);
  impl_->task->read_for_scoring(loading);
  choose_bands(recipe(), loading);

  const int side = recipe().image_size;
  DetectionRules rules = family_of(recipe()).rules(side, side);
  rules.min_score = options.min_score;
  rules.overlap = options.overlap.value_or(rules.overlap);
  rules.most = options.most;
  rules.candidates = std::max(rules.candidates, rules.most);
  const auto teller = make_object_teller(recipe(), rules, dataset, {observer, options.limits});
  reader::Loader loader(dataset, loading);
  Prefetcher batches(loader, options.device);
  batches.start_epoch(0, 0);
  impl_->engine->evaluate(batches, *teller, stop);
  if (stop.stop_requested())
    throw Error(ErrorKind::kInterrupted, "finding objects was interrupted");
  std::vector<reader::BadSample> bad = loader.bad_samples();
  std::ranges::sort(bad, [](const auto& a, const auto& b) { return a.sample < b.sample; });
  return bad;
}

}  // namespace packhorse::trainer

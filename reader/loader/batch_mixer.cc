#include "loader/batch_mixer.h"

#include <span>

#include "loader/sample_maker.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

BatchMixer::BatchMixer(const LoaderOptions& options, std::size_t classes, std::size_t channels)
    : options_(options), classes_(classes), channels_(channels) {
  if (classes == 0)
    throw Error(ErrorKind::kUsage, "Mixup and CutMix mix labels, and the dataset has no classes");
}

void BatchMixer::mix(Ring::Slot& slot, std::int64_t size, std::uint64_t epoch,
                     std::uint64_t position) const {
  const ImageSize image = output_size(options_.augment);
  const MixPlan plan = plan_mix(options_.mix, size, image, options_.seed, epoch, position);
  const auto count = static_cast<std::size_t>(size);
  const std::size_t bytes =
      count * pixels_of_image(options_) * channels_ * size_of(options_.format.type);
  reader::mix(plan, {slot.images.get(), bytes}, image, channels_, options_.format);
  const std::span labels = std::span(slot.labels).first(count);
  slot.mixed = {soft_targets(plan, labels, classes_, options_.label_smoothing),
                partner_labels(plan, labels), plan.lambda};
}

}  // namespace packhorse::reader

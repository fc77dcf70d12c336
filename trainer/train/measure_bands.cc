#include <algorithm>
#include <cmath>
#include <string>

#include "packhorse/base/error.h"
#include "train/fit_setup.h"

namespace packhorse::trainer {

Normalization measure_bands(const std::shared_ptr<const reader::Dataset>& dataset,
                            const Recipe& recipe, const reader::LoaderOptions& how) {
  constexpr std::int64_t kSamples = 1000, kBatch = 50;
  reader::LoaderOptions options;
  options.batch_size = std::min(kBatch, static_cast<std::int64_t>(dataset->size()));
  options.workers = how.workers;
  options.limits = how.limits;
  options.bad_samples = how.bad_samples;
  options.augment = reader::Resize{recipe.image_size};
  options.tail = reader::Tail::kKeep;
  options.seed = recipe.seed;
  choose_bands(recipe, options);
  const auto bands = static_cast<std::size_t>(recipe.channels);
  std::vector<double> sums(bands), squares(bands);
  double pixels = 0;
  reader::Loader loader(dataset, options);
  loader.start_epoch(0);
  for (std::int64_t seen = 0; seen < kSamples;) {
    const std::optional<reader::Batch> batch = loader.next();
    if (!batch) break;
    const std::span<const float> numbers = batch->images_as<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double value = numbers[i];
      sums[i % bands] += value;
      squares[i % bands] += value * value;
    }
    const std::size_t batch_pixels = numbers.size() / bands;
    pixels += static_cast<double>(batch_pixels);
    seen += batch->size();
  }
  Normalization made{std::vector<double>(bands), std::vector<double>(bands)};
  for (std::size_t band = 0; band < bands; ++band) {
    made.mean[band] = sums[band] / pixels;
    if (!std::isfinite(squares[band]))
      throw Error(ErrorKind::kUnsupported,
                  "band " + std::to_string(band) + ", counted from 0, holds NaN or infinite values",
                  {}, "replace them in the images before they are packed");
    const double variance = squares[band] / pixels - made.mean[band] * made.mean[band];
    made.stddev[band] = variance > 0 ? std::sqrt(variance) : 1;
  }
  return made;
}

}  // namespace packhorse::trainer

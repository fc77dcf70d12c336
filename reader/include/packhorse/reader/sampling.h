#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// How often samples come, for LoaderOptions::sampling. By default each sample comes once an epoch.
/// What comes at a position of an epoch depends on (seed, epoch, position) alone, so an epoch
/// resumes at any world size, and no number of threads changes it. A sample that comes again is
/// augmented in another way.
struct Sampling {
  /// What has a weight.
  enum class By : std::uint8_t {
    kNone,
    kBalanced,  ///< each class that has samples: all the same weight
    kSqrt,      ///< each class: the square root of the number of its samples
    kClasses,   ///< each class: `weights`
    kSamples,   ///< each sample: `weights`, as torch's WeightedRandomSampler
    kField,     ///< each sample: the number in its field `field`, as text
    kMembers,   ///< each member of concat(): `weights`, or the number of its samples
  };
  /// When an epoch of kMembers ends. Members that end before begin again, in another order.
  enum class Until : std::uint8_t {
    kFirst,  ///< with the first member that ends
    kAll,    ///< with the last one
  };
  using Weights = std::shared_ptr<const std::vector<double>>;

  By by = By::kNone;
  Weights weights = {};    ///< 0 or more each, more than 0 together; only their ratios count
  std::string field = {};  ///< for kField
  /// Each sample is drawn from all (kSamples and kField: always). Without it, the numbers of
  /// samples of a class are those of its weight, rounded, and all its samples come equally often,
  /// or once more.
  bool replacement = false;
  /// How often each sample that comes does so, one time after the other, as in the RASampler of
  /// DeiT: on different ranks, if there are several. An epoch does not get longer, but has fewer
  /// different samples.
  std::uint64_t repeats = 1;
  /// Samples in an epoch, repeats included. 0: as many as the dataset has; of kMembers, as `until`
  /// says. If these are more than there are, all come again, in another order.
  std::uint64_t num_samples = 0;
  Until until = Until::kFirst;

  /// Throws Error(kUsage) for what makes no sense for any dataset, or in this order.
  void validate(OrderKind order = OrderKind::kGlobal) const;
};

/// What the current epoch has shown so far, on this rank.
struct SamplingReport {
  bool replacement = false;    ///< samples are drawn with replacement
  std::uint64_t samples = 0;   ///< in the batches delivered
  std::uint64_t distinct = 0;  ///< different ones among them
};

/// Weights for Sampling::By::kClasses from a table by name. A weight is a share of the epoch, not
/// of each sample. Throws Error(kUsage) for a name that no class has, and a class without a weight.
Sampling::Weights class_weights(const Dataset& dataset,
                                const std::map<std::string, double>& by_name);

/// The order that suits the dataset's storage, Dataset::usual_order(); kGlobal where classes or
/// samples have weights, which cannot be drawn from windows.
OrderKind usual_order(const Dataset& dataset, const Sampling& sampling);

}  // namespace packhorse::reader

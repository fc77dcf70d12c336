#pragma once

#include <memory>
#include <set>
#include <stop_token>

#include "measure/measure.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::trainer {

/// Makes the timed passes over one dataset, under one condition after another.
class Passes {
 public:
  /// Keeps references to `options` and `recipe`; options may change between passes.
  Passes(const MeasureOptions& options, const Recipe& recipe, std::stop_token stop);

  /// Measures reading, or reading and decoding, without a model.
  Pass load(const std::shared_ptr<const reader::Dataset>& dataset, const Condition& condition,
            reader::Work work);
  Pass train(const std::shared_ptr<const reader::Dataset>& dataset, const Condition& condition);
  /// How many classes the task tells apart in a dataset. Throws Error(kUsage) when it lacks what
  /// the task needs.
  std::int64_t classes(const reader::Dataset& dataset) const;
  /// Measures steps on a batch that is on the device already.
  Pass synthetic(std::int64_t classes);
  /// The recipe's order, or from afar, unless one was asked for, the one that suits it.
  reader::OrderKind order(const reader::Dataset& dataset) const;
  /// Number of reader threads of the last loader.
  int workers() const { return workers_; }

 private:
  void check_stop() const;
  reader::LoaderOptions loader_options(const reader::Dataset& dataset) const;
  /// Brings the dataset's files into the page cache, if the condition wants them there. Call it
  /// before each pass.
  void bring(const std::shared_ptr<const reader::Dataset>& dataset, const Condition& condition);

  const MeasureOptions& options_;
  const Recipe& recipe_;
  std::stop_token stop_;
  std::shared_ptr<const reader::Dataset> warm_ = {};  ///< the last pass's, unless that was cold
  std::set<std::shared_ptr<const reader::Dataset>> afresh_ = {};  ///< loaded since they were cold
  int workers_ = 0;
};

}  // namespace packhorse::trainer

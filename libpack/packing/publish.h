#pragma once

#include <optional>
#include <vector>

#include "packhorse/packing/pack.h"
#include "packing/pack_shard.h"
#include "packing/plan.h"
#include "packing/shard_sink.h"
#include "packing/staging.h"

namespace packhorse {

/// One split on its way from listing to manifest.
struct SplitWork {
  SplitWork(SplitListing& split, const PlanOptions& options)
      : listing(split),
        moved(split.entries.in_file() && options.shuffle
                  ? std::optional(Permutation(split.entries.size(), options.seed))
                  : std::nullopt),
        plan(plan_for(split, options)),
        outcomes(plan.shards()) {}
  /// All rejects of the split, sorted by path.
  std::vector<Reject> rejects() const;

  /// Where what was listed as entry `i` lies now.
  std::size_t entry_of(std::size_t i) const { return moved ? moved->inverse(i) : i; }

  const SplitListing& listing;
  const std::optional<Permutation> moved;  ///< by plan_for()
  Plan plan;
  std::vector<ShardOutcome> outcomes;
};

ShardSink::Splits shards_of(const std::vector<SplitWork>& splits);

/// The rejects as text, one JSON object a line: {"path", "reason"}. It is a part of the dataset,
/// and of its id: codes would change the id of a dataset that is packed again.
std::string rejects_text(const std::vector<Reject>& rejects);

/// Turns the finished shards in the staging directory into datasets, publishes them, and completes
/// `report`. `image`: the mode and settings the images were made with. Throws Error(kInterrupted)
/// if a stop was requested before the one rename that publishes.
/// The sink has all shards.
void publish_splits(const std::vector<SplitWork>& splits, const Listing& listing,
                    const PackOptions& options, const std::filesystem::path& out,
                    const std::pair<std::string, std::string>& image, Staging& staging,
                    ShardSink& sink, PackReport& report);

}  // namespace packhorse

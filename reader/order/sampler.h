#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "order/alias_table.h"
#include "order/passes.h"
#include "order/turns.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/sampling.h"

namespace packhorse::reader {

/// A Sampling of a dataset, with its tables: what is the same in all epochs. Weights of samples
/// take 8 bytes a sample; those of classes 4, and 16 a class; all else takes nothing for a sample.
/// Immutable; thread-safe.
class Sampler {
 public:
  /// Samples that follow each other.
  struct Group {
    std::uint64_t first = 0, count = 0;
  };

  /// Each sample once.
  explicit Sampler(std::uint64_t samples);
  /// Throws Error(kUsage) for what does not fit the dataset.
  Sampler(const Dataset& dataset, const Sampling& sampling);

  std::uint64_t samples() const { return samples_; }  ///< of the dataset
  std::uint64_t size() const { return size_; }        ///< of an epoch
  std::uint64_t repeats() const { return repeats_; }
  /// Draws in an epoch, each of which is repeated.
  std::uint64_t draws() const { return (size_ + repeats_ - 1) / repeats_; }
  bool has_weights() const { return by_ != Sampling::By::kNone; }
  bool replaces() const { return table_.size() > 0; }
  /// Whether each sample comes once an epoch.
  bool is_plain() const { return id_.empty(); }
  /// The same for the same settings and weights; empty for the plain one.
  const std::string& id() const { return id_; }

 private:
  friend class Draws;
  void group_by_class(const Dataset& dataset);
  void group_by_member(const Dataset& dataset);
  Sampling::Weights weights_of(const Dataset& dataset, const Sampling& sampling) const;
  std::uint64_t draws_of_members(Sampling::Until until) const;

  Sampling::By by_ = Sampling::By::kNone;
  std::uint64_t samples_, size_, repeats_ = 1;
  std::vector<Group> groups_;         ///< of samples or, of classes, of items_
  std::vector<std::uint32_t> items_;  ///< samples by class; empty: items are samples
  std::vector<double> weights_;       ///< of the groups, without replacement
  AliasTable table_;                  ///< of the groups or samples, with replacement
  std::string id_;
};

/// The samples of one epoch, all ranks together: position -> draw. Thread-safe.
class Draws {
 public:
  /// An order that suits the weights (Sampling::validate()), with `windows` for
  /// OrderKind::kWindow. Throws Error(kUsage) without them.
  Draws(std::shared_ptr<const Sampler> sampler, OrderKind kind, const Windows& windows,
        std::uint64_t key);

  /// Both throw Error(kUsage) for a position beyond the epoch.
  Draw at(std::uint64_t position) const;
  /// By windows: the first position after those that are best fetched together.
  std::optional<std::uint64_t> window_end(std::uint64_t position) const;
  const Sampler& sampler() const { return *sampler_; }
  /// Of a mixture: draws of each member before `position`.
  std::vector<std::uint64_t> of_members(std::uint64_t position) const;

 private:
  void take_turns(const Windows* windows);
  std::uint64_t number_at(std::uint64_t position) const;
  Draw with_replacement(std::uint64_t number) const;

  std::shared_ptr<const Sampler> sampler_;
  std::uint64_t key_;
  std::optional<Turns> turns_;  ///< of several groups
  std::vector<Passes> passes_;  ///< through each group; none with replacement
  bool by_windows_;
};

}  // namespace packhorse::reader

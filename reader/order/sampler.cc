#include "order/sampler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include "base/choices.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

using By = Sampling::By;

constexpr std::uint64_t kDrawSalt = 0x64726177, kTurnSalt = 0x7475726e, kGroupSalt = 0x67726f7570;
/// Positions of a block of turns: enough to mix a batch, and few beside a pass of a member. Not far
/// below a power of 4, where a Permutation is fastest.
constexpr std::uint64_t kTurnBlock = 920;
/// Beyond, products of such numbers and of blocks of turns need more than 64 bits.
constexpr double kMostDraws = 0x1p52;

[[noreturn]] void refuse_draws(const std::string& what, const std::string& advice = {}) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

std::string number_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// `things` of them have weights; name(i) is thing i.
template <class Name>
void check_weights(std::span<const double> weights, std::uint64_t expected,
                   const std::string& things, const Name& name) {
  if (weights.size() != expected)
    refuse_draws(
        std::to_string(weights.size()) + " weights for " + std::to_string(expected) + " " + things,
        "give one for each");
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      refuse_draws("the weight of " + name(i) + " is " + number_text(weights[i]),
                   "weights are numbers from 0 on");
    sum += weights[i];
  }
  if (!std::isfinite(sum)) refuse_draws("the sum of the weights is too large");
  if (sum <= 0) refuse_draws("all weights are 0", "give one at least that is not");
}

/// A short text, so that hostile fields are not copied into errors.
double number_in(std::span<const std::byte> field) {
  const auto* const text = reinterpret_cast<const char*>(field.data());
  std::string_view number(text, field.size());
  const auto value = parse_number<double>(trimmed(number));
  if (!value) throw Error(ErrorKind::kUsage, "its field of weights is not a number");
  return *value;
}

std::vector<double> weights_in_field(const Dataset& dataset, const std::string& name) {
  const std::vector<std::string>& fields = dataset.fields();
  const auto found = std::ranges::find(fields, name);
  if (found == fields.end()) {
    const std::string others = fields.empty() ? "" : ", or a field; " + choice_advice(name, fields);
    refuse_draws("there is no field '" + name + "' with weights",
                 "give `weights=balanced` or `weights=sqrt`" + others);
  }
  const auto field = static_cast<std::size_t>(found - fields.begin());
  std::vector<double> weights(dataset.size());
  constexpr std::size_t kBatch = 1024;
  run_batches(available_cpus(), dataset.size(), kBatch, [&](std::size_t begin, std::size_t end) {
    std::vector<std::byte> bytes;
    for (std::size_t i = begin; i < end; ++i) {
      try {
        if (!dataset.read_field(i, field, bytes))
          throw Error(ErrorKind::kUsage, "it has no field '" + name + "' with its weight");
        weights[i] = number_in(bytes);
      } catch (const Error& error) {
        throw error_at(dataset, i, error);
      }
    }
  });
  return weights;
}

std::string id_of(const Sampling& sampling, std::span<const double> weights,
                  std::uint64_t samples) {
  if (sampling.by == By::kNone && sampling.repeats == 1 &&
      (sampling.num_samples == 0 || sampling.num_samples == samples))
    return {};
  const std::uint64_t settings[] = {static_cast<std::uint64_t>(sampling.by),
                                    sampling.replacement ? 1u : 0u,
                                    sampling.repeats,
                                    sampling.num_samples,
                                    static_cast<std::uint64_t>(sampling.until),
                                    xxh3(std::as_bytes(weights))};
  return std::to_string(xxh3(std::as_bytes(std::span(settings))));
}

}  // namespace

Sampler::Sampler(std::uint64_t samples)
    : samples_(samples), size_(samples), groups_{{0, samples}} {}

Sampler::Sampler(const Dataset& dataset, const Sampling& sampling) : Sampler(dataset.size()) {
  sampling.validate();
  by_ = sampling.by;
  repeats_ = sampling.repeats;
  if (samples_ == 0 && (has_weights() || sampling.num_samples > 0))
    refuse_draws("the dataset has no samples to draw");
  const bool of_samples = by_ == By::kSamples || by_ == By::kField;
  if ((of_samples || (has_weights() && by_ != By::kMembers)) &&
      samples_ > std::numeric_limits<std::uint32_t>::max())
    refuse_draws("weights are for fewer than 2^32 samples or their classes");
  if (by_ == By::kMembers) {
    group_by_member(dataset);
  } else if (has_weights() && !of_samples) {
    group_by_class(dataset);
  }
  const Sampling::Weights weights = weights_of(dataset, sampling);
  id_ = id_of(sampling, *weights, samples_);
  if (of_samples || sampling.replacement) {
    table_ = AliasTable(*weights);
  } else {
    weights_ = *weights;
  }
  if (by_ == By::kMembers) size_ = draws_of_members(sampling.until);
  if (sampling.num_samples > 0) size_ = sampling.num_samples;
  if (static_cast<double>(size_) >= kMostDraws) refuse_draws("an epoch has 2^52 samples or more");
}

Sampling::Weights Sampler::weights_of(const Dataset& dataset, const Sampling& sampling) const {
  Sampling::Weights weights = sampling.weights;
  if (!weights) {
    std::vector<double> made;
    for (const Group& group : groups_) {
      const auto count = static_cast<double>(group.count);
      made.push_back(by_ == By::kBalanced ? (group.count > 0 ? 1 : 0)
                     : by_ == By::kSqrt   ? std::sqrt(count)
                                          : count);
    }
    if (by_ == By::kField) made = weights_in_field(dataset, sampling.field);
    weights = std::make_shared<std::vector<double>>(std::move(made));
  }
  if (by_ == By::kNone) return weights;
  if (by_ == By::kSamples || by_ == By::kField) {
    check_weights(*weights, samples_, "samples",
                  [](std::size_t i) { return "sample " + std::to_string(i); });
    return weights;
  }
  const bool of_members = by_ == By::kMembers;
  const auto name = [&](std::size_t i) {
    return of_members ? "dataset " + std::to_string(i) : "the class '" + dataset.classes()[i] + "'";
  };
  check_weights(*weights, groups_.size(), of_members ? "datasets" : "classes", name);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if ((*weights)[i] > 0 && groups_[i].count == 0)
      refuse_draws(name(i) + " has a weight and no samples", "give it the weight 0");
  }
  return weights;
}

void Sampler::group_by_class(const Dataset& dataset) {
  groups_.assign(dataset.classes().size(), {});
  for (std::size_t i = 0; i < samples_; ++i) {
    const std::int64_t label = dataset.label(i);
    dataset.check_whole(i);
    if (label < 0 || static_cast<std::size_t>(label) >= groups_.size())
      refuse_draws(dataset.describe(i) + " is of none of the classes, which have weights",
                   "give weights of samples");
    ++groups_[static_cast<std::size_t>(label)].count;
  }
  std::uint64_t first = 0;
  for (Group& group : groups_) {
    group.first = first;
    first += group.count;
    group.count = 0;
  }
  items_.resize(samples_);
  for (std::size_t i = 0; i < samples_; ++i) {
    Group& group = groups_[static_cast<std::size_t>(dataset.label(i))];
    items_[group.first + group.count++] = static_cast<std::uint32_t>(i);
  }
}

void Sampler::group_by_member(const Dataset& dataset) {
  groups_.clear();
  std::uint64_t first = 0;
  for (const std::shared_ptr<const Dataset>& member : dataset.members()) {
    groups_.push_back({first, member->size()});
    first += member->size();
  }
  if (groups_.empty()) refuse_draws("one dataset has no members to weigh");
}

std::uint64_t Sampler::draws_of_members(Sampling::Until until) const {
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  constexpr double kRounding = 1e-12;  // of these products; counts below 2^40 are exact
  double draws = until == Sampling::Until::kAll ? 0 : kMostDraws;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (weights_[i] == 0) continue;
    const double ends = static_cast<double>(groups_[i].count) * sum / weights_[i];
    draws = until == Sampling::Until::kAll ? std::max(draws, std::ceil(ends * (1 - kRounding)))
                                           : std::min(draws, std::floor(ends * (1 + kRounding)));
  }
  return static_cast<std::uint64_t>(std::min(draws, kMostDraws));
}

Draws::Draws(std::shared_ptr<const Sampler> sampler, OrderKind kind, const Windows& windows,
             std::uint64_t key)
    : sampler_(std::move(sampler)), key_(key), by_windows_(kind == OrderKind::kWindow) {
  if (by_windows_ && (!windows.runs || windows.runs->samples() != sampler_->samples_))
    refuse_draws("the window order needs the runs of the dataset");
  if (sampler_->replaces()) return;
  if (sampler_->has_weights()) {
    take_turns(by_windows_ ? &windows : nullptr);
  } else if (by_windows_) {
    passes_.emplace_back(0, sampler_->samples_, key_, windows, sampler_->draws());
  } else {
    passes_.emplace_back(0, sampler_->samples_, key_, kind != OrderKind::kSequential);
  }
}

/// In a mixture by windows, a block of turns is the window: members are read run by run, and their
/// samples are mixed in the block.
void Draws::take_turns(const Windows* windows) {
  const std::vector<Sampler::Group>& groups = sampler_->groups_;
  const std::uint64_t block =
      windows == nullptr || windows->runs->size() == 0
          ? kTurnBlock
          : std::max<std::uint64_t>(
                1, windows->runs_each * windows->runs->samples() / windows->runs->size());
  turns_.emplace(quotas_of(sampler_->weights_, sampler_->draws(), mix64(key_ ^ kTurnSalt)), block,
                 mix64(key_ ^ kTurnSalt));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::uint64_t key = mix64(mix64(key_ ^ kGroupSalt) + i);
    if (windows != nullptr) {
      passes_.emplace_back(groups[i].first, groups[i].count, key, Windows{windows->runs, 1},
                           turns_->quota(i));
    } else {
      passes_.emplace_back(groups[i].first, groups[i].count, key);
    }
  }
}

Draw Draws::with_replacement(std::uint64_t number) const {
  const std::uint64_t bits = mix64(mix64(key_ ^ kDrawSalt) + number);
  const std::uint64_t drawn = sampler_->table_.draw(bits);
  if (sampler_->items_.empty()) return {drawn, number};
  const Sampler::Group& group = sampler_->groups_[drawn];
  const auto place =
      static_cast<std::uint64_t>((static_cast<__uint128_t>(mix64(~bits)) * group.count) >> 64);
  return {sampler_->items_[group.first + place], number};
}

/// Which draw it is. Beyond the epoch there is none, and a Permutation would look for it for ever.
std::uint64_t Draws::number_at(std::uint64_t position) const {
  if (position >= sampler_->size_)
    refuse_draws("position " + std::to_string(position) + " of an epoch of " +
                 std::to_string(sampler_->size_));
  return sampler_->repeats_ == 1 ? position : position / sampler_->repeats_;
}

Draw Draws::at(std::uint64_t position) const {
  const std::uint64_t repeats = sampler_->repeats_;
  const std::uint64_t number = number_at(position);
  Draw draw;
  if (passes_.empty()) {
    draw = with_replacement(number);
  } else if (!turns_) {
    draw = passes_.front().at(number);
  } else {
    const Turns::Turn turn = turns_->at(number);
    draw = passes_[turn.group].at(turn.number);
    if (!sampler_->items_.empty()) draw.sample = sampler_->items_[draw.sample];
  }
  if (repeats > 1) draw.occurrence = draw.occurrence * repeats + position % repeats;
  return draw;
}

std::optional<std::uint64_t> Draws::window_end(std::uint64_t position) const {
  if (!by_windows_) return std::nullopt;
  const std::uint64_t number = number_at(position);
  const std::uint64_t end =
      turns_ ? turns_->block_end(number) : passes_.front().window_end(number).value();
  return end * sampler_->repeats_;
}

std::vector<std::uint64_t> Draws::of_members(std::uint64_t position) const {
  if (!turns_ || sampler_->by_ != By::kMembers) return {};
  return turns_->before(position / sampler_->repeats_);
}

}  // namespace packhorse::reader

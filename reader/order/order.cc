#include "order/order.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// Keeps an epoch's order independent of the order of packing, even for equal seeds.
constexpr std::uint64_t kOrderSalt = 0x6f72646572;  // "order"

std::uint64_t epoch_key(const OrderOptions& options) {
  return mix64(mix64(options.seed ^ kOrderSalt) + options.epoch);
}

const OrderOptions& checked(const OrderOptions& options, std::uint64_t samples) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::kUsage, what); };
  if (options.world < 1)
    refuse("the world size is " + std::to_string(options.world) + ", it must be 1 or more");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (options.world > kMost || options.batch_size > kMost)
    refuse("a batch of " + std::to_string(options.batch_size) + " in a world of " +
           std::to_string(options.world) + ": neither may be more than " + std::to_string(kMost));
  if (options.rank < 0 || options.rank >= options.world) {
    refuse("rank " + std::to_string(options.rank) + " is not one of a world of " +
           std::to_string(options.world) + ": ranks are counted from 0");
  }
  if (options.batch_size < 1) {
    refuse("the batch size is " + std::to_string(options.batch_size) + ", it must be 1 or more");
  }
  if (options.tail == Tail::kKeep && options.world > 1) {
    refuse(
        "a short last batch (Tail::kKeep) needs a world size of 1: the ranks would get different "
        "batches");
  }
  if (options.done > samples) {
    refuse("resuming after " + std::to_string(options.done) + " samples, but the epoch has " +
           std::to_string(samples));
  }
  return options;
}

std::uint64_t global_batch(const OrderOptions& options) {
  return static_cast<std::uint64_t>(options.world) * static_cast<std::uint64_t>(options.batch_size);
}

}  // namespace

Order::Order(std::shared_ptr<const Sampler> sampler, const OrderOptions& options)
    : options_(checked(options, sampler->size())), samples_(sampler->size()), steps_(0) {
  const std::uint64_t rest = samples_ - options.done;
  const std::uint64_t global = global_batch(options);
  steps_ =
      options.tail == Tail::kDrop ? rest / global : rest / global + (rest % global != 0 ? 1 : 0);
  draws_ =
      std::make_shared<Draws>(std::move(sampler), order_in(options.kind, options.epoch),
                              Windows{options.runs, options.runs_per_window}, epoch_key(options));
}

Order::Order(std::uint64_t samples, const OrderOptions& options)
    : Order(std::make_shared<Sampler>(samples), options) {}

std::uint64_t Order::size() const {
  if (options_.tail == Tail::kKeep) return samples_ - options_.done;
  return steps_ * static_cast<std::uint64_t>(options_.batch_size);
}

std::int64_t Order::batch_size(std::uint64_t step) const {
  if (options_.tail != Tail::kKeep || step + 1 < steps_) return options_.batch_size;
  const std::uint64_t before = step * static_cast<std::uint64_t>(options_.batch_size);
  return static_cast<std::int64_t>(size() - before);
}

std::uint64_t Order::position(std::uint64_t step, std::int64_t place) const {
  const std::uint64_t position = options_.done + step * global_batch(options_) +
                                 static_cast<std::uint64_t>(place * options_.world + options_.rank);
  // Only padding goes beyond the end; in a tiny dataset it may wrap more than once.
  return position < samples_ ? position : position % samples_;
}

Draw Order::draw(std::uint64_t step, std::int64_t place) const {
  return draws_->at(position(step, place));
}

std::uint64_t Order::sample(std::uint64_t ticket) const {
  const auto batch = static_cast<std::uint64_t>(options_.batch_size);
  return sample(ticket / batch, static_cast<std::int64_t>(ticket % batch));
}

std::optional<std::uint64_t> Order::window_end(std::uint64_t ticket) const {
  const auto batch = static_cast<std::uint64_t>(options_.batch_size);
  const auto at = [&](std::uint64_t t) {
    return position(t / batch, static_cast<std::int64_t>(t % batch));
  };
  const std::optional<std::uint64_t> end = draws_->window_end(at(ticket));
  if (!end) return std::nullopt;
  // Padding starts again at the beginning, so its positions lie below `begin`.
  const std::uint64_t begin = at(ticket);
  std::uint64_t behind = ticket + 1;
  while (behind < size() && at(behind) >= begin && at(behind) < *end) ++behind;
  return behind;
}

std::uint64_t Order::done_after(std::uint64_t steps) const {
  return std::min(samples_, options_.done + steps * global_batch(options_));
}

}  // namespace packhorse::reader

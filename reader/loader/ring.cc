#include "loader/ring.h"

#include <algorithm>
#include <span>
#include <utility>

namespace packhorse::reader {

Ring::Ring(int slots, std::int64_t batch_size, std::size_t slot_bytes,
           const SlotAllocator& allocator)
    : memory_(std::make_shared<SlotPool>(allocator, slot_bytes, static_cast<std::size_t>(slots))),
      slots_(static_cast<std::size_t>(slots)) {
  for (Slot& slot : slots_) {
    slot.images = memory_->get();
    slot.labels.resize(static_cast<std::size_t>(batch_size));
    slot.samples.resize(static_cast<std::size_t>(batch_size));
  }
}

Ring::~Ring() { memory_->close(); }

bool Ring::enter(std::uint64_t& seen, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  producers_.wait(lock, stop, [&] { return epochs_begun_ != seen; });
  if (stop.stop_requested()) return false;
  seen = epochs_begun_;
  ++inside_;
  return true;
}

void Ring::leave() {
  const std::lock_guard lock(mutex_);
  if (--inside_ == 0) consumer_.notify_all();
}

bool Ring::wait_open(std::uint64_t step, const std::stop_token& stop) {
  if (is_open(step)) return !over();
  std::unique_lock lock(mutex_);
  producers_.wait(lock, stop, [&] { return over() || is_open(step); });
  return !over() && !stop.stop_requested();
}

bool Ring::complete_one(std::uint64_t step, std::int64_t batch_size) {
  // Releases what this thread wrote. The last thread acquires what all threads wrote, and passes it
  // on through the mutex.
  return slot(step).filled.fetch_add(1, std::memory_order_acq_rel) + 1 == batch_size;
}

void Ring::make_ready(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  slot(step).ready = true;
  consumer_.notify_all();
}

void Ring::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  over_ = true;
  producers_.notify_all();
  consumer_.notify_all();
}

Ring::Slot& Ring::take(std::uint64_t step, std::uint64_t& ready) {
  Slot& taken = slot(step);
  std::unique_lock lock(mutex_);
  ready = static_cast<std::uint64_t>(std::ranges::count_if(slots_, &Slot::ready));
  consumer_.wait(lock, [&] { return is_done(step); });
  if (error_) std::rethrow_exception(error_);
  taken.ready = false;
  taken.leased = true;
  taken.open = kNone;
  taken.next = step + slots_.size();
  return taken;
}

bool Ring::wait_ready(std::uint64_t step, std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  return consumer_.wait_for(lock, most, [&] { return is_done(step); });
}

void Ring::end_epoch() {
  std::unique_lock lock(mutex_);
  over_ = true;
  producers_.notify_all();
  consumer_.wait(lock, [&] { return inside_ == 0; });
}

void Ring::begin_epoch() {
  const std::lock_guard lock(mutex_);
  error_ = nullptr;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.next = i;
    if (!slot.leased) open(slot);
  }
  over_ = false;
  ++epochs_begun_;
  producers_.notify_all();
}

std::shared_ptr<std::uint8_t> Ring::keep_images(std::size_t index) {
  return std::exchange(slots_[index].images, memory_->get());
}

void Ring::give_back(std::size_t index) {
  const std::lock_guard lock(mutex_);
  slots_[index].leased = false;
  open(slots_[index]);
  producers_.notify_all();
}

void Ring::open(Slot& slot) {
  slot.ready = false;
  slot.filled.store(0, std::memory_order_relaxed);
  slot.open.store(slot.next, std::memory_order_release);
}

namespace {

std::uint32_t size_of_all(const auto& values) { return static_cast<std::uint32_t>(values.size()); }

/// Gives the places of a slot their part of its masks.
void divide_masks(Ring::Slot& slot, std::size_t pixels) {
  slot.masks.resize(slot.places.size() * pixels);
  for (std::size_t place = 0; place < slot.places.size(); ++place)
    slot.places[place].mask = std::span(slot.masks).subspan(place * pixels, pixels);
}

/// Hands the masks to the batch, and its old memory, if it still has it, to the places.
void take_masks(Ring::Slot& slot, std::size_t samples) {
  const std::size_t pixels = slot.places.front().mask.size();
  if (pixels == 0) return;
  slot.targets.masks.swap(slot.masks);
  slot.targets.masks.resize(samples * pixels);
  divide_masks(slot, pixels);
}

}  // namespace

void give_places(Ring::Slot& slot, std::size_t places, std::size_t mask_pixels) {
  slot.places.resize(places);
  if (mask_pixels > 0) divide_masks(slot, mask_pixels);
}

void join_targets(Ring::Slot& slot, std::size_t samples) {
  BatchTargets& joined = slot.targets;
  clear(joined.objects);
  joined.classes.labels.clear();
  joined.classes.scores.clear();
  joined.captions.clear();
  for (auto* offsets : {&joined.offsets, &joined.class_offsets, &joined.caption_offsets})
    offsets->assign(1, 0);
  if (slot.places.empty()) return;
  for (std::size_t i = 0; i < samples; ++i) {
    const PlacedTargets& place = slot.places[i];
    append(place.objects, joined.objects);
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(joined.classes.labels, place.classes.labels);
    add(joined.classes.scores, place.classes.scores);
    joined.captions += place.caption;
    joined.offsets.push_back(size_of_all(joined.objects.boxes));
    joined.class_offsets.push_back(size_of_all(joined.classes.labels));
    joined.caption_offsets.push_back(size_of_all(joined.captions));
  }
  take_masks(slot, samples);
}

}  // namespace packhorse::reader

#include "loader/slot_targets.h"

#include <span>

namespace packhorse::reader {

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

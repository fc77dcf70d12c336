#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "loader/targets_reader.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "packhorse/reader/targets.h"

namespace packhorse::reader {

/// Makes samples by a DetectionAugment, of one picture or several, with their objects. One thread.
class Composer {
 public:
  /// A picture, or a mosaic of several, with what is drawn for it.
  struct Layer {
    SampleRandom random;
    std::vector<std::uint64_t> samples;
  };
  /// What a sample is made of.
  struct Parts {
    Layer base;  ///< its first sample is the sample itself
    std::optional<Layer> pasted = {}, mixed = {};
    bool alone = false;  ///< one picture, whatever the DetectionAugment says
  };
  /// Hears how long each stage took, and of how many bytes.
  using Clock = std::chrono::steady_clock;
  using StageEnd = std::function<void(Stage, Clock::time_point begin, Clock::time_point end,
                                      std::uint64_t bytes)>;

  /// `targets` may be null: then none are read. All must outlive it.
  Composer(const Dataset& dataset, const LoaderOptions& options, const TargetsReader* targets,
           Decoder& decoder, StageEnd stage_end);

  /// Draws the other samples from the whole dataset; `alone`: there are none.
  Parts choose(SampleRandom random, std::uint64_t sample, bool alone = false) const;
  /// Writes the pixels and, into `targets`, what is in them. Throws what reading and decoding
  /// throw.
  void draw(Parts& parts, std::span<std::uint8_t> pixels, PlacedTargets& targets);
  /// The sample of `parts` that the last draw() was at, for errors.
  std::uint64_t& current() { return *current_; }

 private:
  void draw(Layer& layer, const DetectionAugment& augment, std::span<std::uint8_t> pixels,
            PlacedTargets& targets);
  void fill_background(std::span<std::uint8_t> pixels) const;
  void draw_picture(const Layer& layer, std::size_t number, const DetectionAugment& augment,
                    std::span<std::uint8_t> pixels, PlacedTargets& targets);
  /// Draws another sample, for paste() and mix().
  void draw_beside(Layer& layer, const DetectionAugment& augment, const PlacedTargets& like);
  void paste(Layer& layer, std::span<std::uint8_t> pixels, PlacedTargets& targets);
  void mix(Layer& layer, std::span<std::uint8_t> pixels, PlacedTargets& targets);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const DetectionAugment& augment_;
  const TargetsReader* reader_;
  Decoder& decoder_;
  StageEnd stage_end_;
  DetectionAugment single_;  ///< augment_ without mosaics
  std::uint64_t* current_ = nullptr;
  std::vector<std::byte> bytes_, field_;
  std::vector<std::uint8_t> layer_pixels_, layer_mask_;
  PlacedTargets layer_targets_;
};

}  // namespace packhorse::reader

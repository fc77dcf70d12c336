#include <algorithm>

#include "loader/band_survey.h"
#include "loader/loader_table.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"
#include "pixel_format/pixel_writer.h"

namespace packhorse::reader {

namespace {

bool makes_of_several(const Augment& augment) {
  const auto* detection = std::get_if<DetectionAugment>(&augment);
  return detection != nullptr &&
         (detection->mosaic.probability > 0 || detection->copy_paste.probability > 0 ||
          detection->mixup.probability > 0);
}

bool is_crop(const Augment& augment) { return !std::holds_alternative<DetectionAugment>(augment); }

/// Whoever decodes what is left encoded scales by the bilinear filter.
bool is_bilinear(const Augment& augment) {
  return std::visit(
      [](const auto& kind) {
        if constexpr (requires { kind.interpolation; })
          return kind.interpolation == Interpolation::kBilinear;
        return true;
      },
      augment);
}

}  // namespace

OrderOptions order_options(const LoaderOptions& options, std::uint64_t epoch, std::uint64_t done) {
  return {.kind = options.order,
          .seed = options.seed,
          .epoch = epoch,
          .rank = options.rank,
          .world = options.world,
          .batch_size = options.batch_size,
          .tail = options.tail,
          .done = done};
}

void LoaderOptions::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::kUsage, what);
  };
  check_ranges(*this, loader_options());
  require(!allocator.allocate == !allocator.deallocate,
          "a slot allocator needs both functions, allocate and deallocate");
  require(run_bytes >= 1 && window_bytes >= run_bytes,
          "a window must hold at least one run of samples, and a run at least one byte");
  require(encoded_share >= 0 && encoded_share <= 1, "the encoded share must be within 0 and 1");
  require(encoded_share == 0 || scaled_dct == ScaledDct::kOff,
          "samples that are left encoded are decoded at full size");
  require(encoded_share == 0 || format == PixelFormat{},
          "samples that are left encoded stand among pixels of 8 bits, interleaved");
  if (bands) {
    require(encoded_share == 0 && scaled_dct == ScaledDct::kOff,
            "of bands nothing is left encoded, and JPEGs are decoded at full size");
    require(pixels.empty(), "pixel steps change colours, not bands");
    const auto [least, most] = std::minmax_element(bands->numbers.begin(), bands->numbers.end());
    require(bands->numbers.empty() || (*least >= 0 && *most < 255 && bands->numbers.size() <= 255),
            "bands are counted from 0 to 254");
  } else {
    PixelWriter(format, 0);  // refuses what does not fit colours
  }
  reader::validate(augment);
  require(more_views.empty() || (encoded_share == 0 && !targets && !mix.any()),
          "several views of an image come without targets, Mixup and CutMix, and none is left "
          "encoded");
  for (const View& view : more_views) {
    reader::validate(view.augment);
    require(is_crop(view.augment) && is_crop(augment), "several views of an image are crops");
    require(!bands || view.pixels.empty(), "pixel steps change colours, not bands");
  }
  const ImageSize size = output_size(augment);
  require(encoded_share == 0 || size.height == size.width,
          "samples that are left encoded become squares");
  require(encoded_share == 0 || is_bilinear(augment),
          "samples that are left encoded are scaled by the bilinear filter");
  sampling.validate(order);
  if (targets) targets->validate();
  if (const auto* detection = std::get_if<DetectionAugment>(&augment)) {
    require(!bands || (detection->background[0] == detection->background[1] &&
                       detection->background[1] == detection->background[2]),
            "the background of bands is grey: give it three equal levels");
    require(encoded_share == 0 && scaled_dct == ScaledDct::kOff,
            "a DetectionAugment leaves nothing encoded, and decodes at full size");
    require(detection->copy_paste.probability == 0 ||
                (targets && targets->masks == TargetRules::Masks::kRunLengths),
            "Copy-Paste needs the objects' masks: targets with Masks::kRunLengths");
  }
  mix.validate();
  require(!mix.any() || !targets,
          "Mixup and CutMix mix the labels of whole images: leave out `targets=`");
  require(
      !mix.any() || !std::holds_alternative<DetectionAugment>(augment),
      "`mixup=` and `cutmix=` mix classified images; a DetectionAugment has a mixup of its own");
  require(!mix.any() || !bands || !bands->mixed_bits,
          "Mixup and CutMix mix images of the same bits: leave out `mixed_bits=`");
  require(!mix.any() || (encoded_share == 0 && bad_samples.policy != BadSamplePolicy::kLeaveOut),
          "Mixup and CutMix need all samples of a batch, decoded");
  require(mix.any() || (mix.probability == 1 && label_smoothing == 0),
          "`mix_prob=` and `label_smoothing=` are about mixed batches: give `mixup=` or `cutmix=`");
  require((mix.mixup_alpha > 0 && mix.cutmix_alpha > 0) || mix.cutmix_share == .5,
          "`switch_prob=` chooses between two: give both `mixup=` and `cutmix=`");
  require(label_smoothing >= 0 && label_smoothing < 1,
          "the label smoothing must be at least 0 and below 1");
  require(!sample_hook || encoded_share == 0, "a sample hook needs samples that are decoded");
  require(!close_mosaic_from || makes_of_several(augment),
          "there is no Mosaic, Copy-Paste or Mixup to close");
  OrderOptions any = order_options(*this, 0, 0);
  any.kind = OrderKind::kSequential;
  static_cast<void>(Order(0, any));
}

}  // namespace packhorse::reader

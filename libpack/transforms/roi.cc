#include "jpeg/encode/transcode.h"
#include "packhorse/base/error.h"
#include "transforms/transforms.h"

namespace packhorse::transforms {

namespace {

class Roi final : public Transform {
 public:
  explicit Roi(const TransformOptions& options) : restart_mcus_(options.restart_mcus) {}

  Transformed apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const override {
    refuse_pixels(info, "roi");
    if (const auto reason = encode::reason_to_keep(input, info)) return {input, *reason};
    if (!encode::transcode(input, info, restart_mcus_, output))
      return {input, "kept: a progressive JPEG with missing scans"};
    // A file that was transcoded before comes out the same, byte for byte.
    if (as_text(input) == as_text(output)) return {input, "kept: already roi-ready"};
    return {output, {}};
  }

 private:
  int restart_mcus_;
};

}  // namespace

void refuse_pixels(const ImageInfo& info, std::string_view mode) {
  if (info.kind != ImageKind::kRaw) return;
  throw Error(ErrorKind::kUnsupported,
              "the image mode '" + std::string(mode) + "' cannot work on decoded pixels", {},
              "pack from the original images, or keep the pixels with --image original");
}

std::unique_ptr<Transform> make_roi(const TransformOptions& options) {
  return std::make_unique<Roi>(options);
}

}  // namespace packhorse::transforms

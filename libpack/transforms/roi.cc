#include "jpeg/decode/marker_segments.h"
#include "jpeg/encode/transcode.h"
#include "packhorse/base/error.h"
#include "transforms/transform.h"

namespace packhorse::transforms {

namespace {

/// Whether pictures or a film follow the picture, which no reader of JPEGs shows: previews, the
/// gain map of Ultra HDR, a motion photo.
bool has_more_behind(Bytes file) {
  jpeg::SegmentWalk walk(file);
  while (const std::optional<jpeg::Segment> segment = walk.next()) {
    if (jpeg::is_picture_index(segment->marker, segment->body)) return true;
    if (segment->marker != jpeg::kSos) continue;
    const std::string_view text = as_text(file);
    const std::size_t end = text.find("\xff\xd9", segment->end);
    if (end == std::string_view::npos) return false;
    const std::string_view tail = text.substr(end + 2);
    return tail.starts_with("\xff\xd8\xff") || (tail.size() > 8 && tail.substr(4, 4) == "ftyp");
  }
  return false;
}

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
    if (has_more_behind(input)) return {output, "pictures or films behind it left out"};
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
              "pack from the original images, or keep the pixels with `image=original`");
}

std::unique_ptr<Transform> make_roi(const TransformOptions& options) {
  return std::make_unique<Roi>(options);
}

}  // namespace packhorse::transforms

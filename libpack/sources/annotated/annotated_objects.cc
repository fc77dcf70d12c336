#include "annotations/sample_targets.h"
#include "packhorse/base/error.h"
#include "packhorse/codecs/image_header.h"
#include "packhorse/sources/source.h"
#include "packhorse/targets/objects.h"

namespace packhorse {

std::vector<std::byte> annotated_objects(const Source& source, const Listing& listing,
                                         const SplitListing& split, std::size_t entry) {
  const SampleTargets& targets = *listing.made_targets;
  ImageInfo image = targets.told_image(split, entry);
  if (image.width == 0) {
    Input input;
    source.read(split, entry, input);
    const ProbeResult probe = probe_image(input.bytes, {});
    if (!probe.info) throw Error(ErrorKind::kCorrupt, "its image has no header that can be read");
    image = *probe.info;
  }
  return encode_objects(targets.objects(split, targets.record(split, entry), image));
}

}  // namespace packhorse

#include "loader/undecodable.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// Why the pixels of a sample are no colours, of a kind that may hold others, by its header; empty
/// when they are, and when its header cannot be read: a bad sample, as will be said then.
std::string why_no_colours_in(const Dataset& dataset, std::size_t sample) {
  std::vector<std::byte> scratch;
  const BytesLease file = dataset.view(sample, scratch);
  const ProbeResult header = probe_image(file.bytes, ImageLimits().of_packed());
  const std::string what = header.info ? why_no_colours(header.layout) : "";
  return what.empty() ? what : "TIFF of " + what;
}

}  // namespace

void refuse_undecodable(const Dataset& dataset, const BadSampleOptions& bad, PixelUse use) {
  constexpr std::size_t kMost = 100'000;
  const std::size_t looked_at = std::min(dataset.size(), kMost);
  const bool looks_inside = use == PixelUse::kColours && bad.policy == BadSamplePolicy::kFail;
  using Kind = std::tuple<ImageKind, std::uint8_t, std::uint8_t>;
  std::map<Kind, std::string> whys;  // of images that an index tells alike
  std::map<std::string, std::uint64_t> found;
  std::set<std::string> inside;
  std::uint64_t all = 0;
  const std::string* why = nullptr;  // most datasets have images of one kind
  Kind last;
  for (std::size_t i = 0; i < looked_at; ++i) {
    try {
      const ImageInfo image = dataset.image(i);
      if (image.kind == ImageKind::kUnknown) return;  // a folder, of which nothing is known
      const Kind kind{image.kind, image.components, image.bit_depth};
      if (why == nullptr || kind != last) {
        last = kind;
        const auto [at, fresh] = whys.try_emplace(kind, why_not_decoded(image, use));
        why = &at->second;
        if (fresh && why->empty() && looks_inside && image.kind == ImageKind::kTiff)
          inside.insert(why_no_colours_in(dataset, i));
      }
    } catch (const Error&) {
      return;  // of a shard that cannot be opened; told, or replaced, when its samples are read
    }
    if (why->empty()) continue;
    ++found[*why];
    ++all;
  }
  inside.erase("");
  const bool allowed =
      bad.policy != BadSamplePolicy::kFail && all <= bad.limit.allowed(dataset.size());
  if ((all == 0 && inside.empty()) || allowed) return;
  std::string what =
      (all > 0 ? std::to_string(all) : "some") + " of its images cannot be decoded here: ";
  for (const auto& [reason, count] : found)
    what += (what.ends_with(": ") ? "" : ", ") + std::to_string(count) + " " + reason;
  for (const std::string& reason : inside) what += (what.ends_with(": ") ? "" : ", ") + reason;
  throw Error(
      ErrorKind::kUnsupported, what, {},
      "install what is missing, or pack them where they can be decoded, with "
      "`image=resize` or `image=raw`; what is no colours is read as bands (bands= in Python, "
      "`packhorse-train fit --channels`)");
}

}  // namespace packhorse::reader

#include "loader/band_survey.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "codecs/band_rows.h"
#include "codecs/image_header.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr std::size_t kMostSamples = 100'000;
constexpr std::size_t kMostTries = 16;  ///< samples of a kind whose headers are read

/// What an index says of an image: images that agree in it have the same bands, mostly.
using Described = std::tuple<ImageKind, std::uint8_t, std::uint8_t>;

std::optional<BandLayout> layout_of(const Dataset& dataset, std::size_t sample,
                                    const ImageLimits& limits) {
  std::vector<std::byte> scratch;
  try {
    const BytesLease lease = dataset.view(sample, scratch);
    const Bytes file = lease.bytes;
    ImageInfo info = dataset.image(sample);
    ImageLimits ours = limits;
    ours.bands = true;
    if (info.kind == ImageKind::kUnknown) {
      info = header_to_decode(file, ours);
    } else if (info.kind != ImageKind::kRaw) {
      info = packed_header(file, info, ours);
    }
    const BandLayout layout = band_layout(file, info);
    dataset.check_whole(sample);
    return layout;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kUnsupported)
      return std::nullopt;  // a bad sample, as the loader will say when it comes to it
    throw;
  }
}

std::string words_of(const BandLayout& layout) {
  return std::to_string(layout.bands) + (layout.bands == 1 ? " band" : " bands") + " of " +
         (layout.is_float() ? "floating-point numbers" : std::to_string(layout.bits) + " bits");
}

/// Numbers of bands, and their bits.
using Layouts = std::set<std::pair<int, int>>;

std::string words_of(const Layouts& layouts) {
  std::string words;
  for (const auto& [bands, bits] : layouts)
    words += (words.empty() ? "" : ", ") + words_of(BandLayout{bands, bits});
  return words;
}

/// Those of some samples of each kind.
Layouts layouts_of(const Dataset& dataset, const ImageLimits& limits) {
  std::map<Described, std::size_t> tries;
  Layouts layouts;
  const std::size_t looked_at = std::min(dataset.size(), kMostSamples);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const ImageInfo image = dataset.image(i);
    if (++tries[{image.kind, image.components, image.bit_depth}] > kMostTries) continue;
    if (const auto layout = layout_of(dataset, i, limits))
      layouts.insert({layout->bands, layout->bits});
  }
  return layouts;
}

bool is_float(const std::pair<int, int>& layout) {
  return BandLayout{layout.first, layout.second}.is_float();
}

}  // namespace

BandChoice survey_bands(const Dataset& dataset, const LoaderOptions& options) {
  const BandOptions& wanted = *options.bands;
  const auto layouts = layouts_of(dataset, options.limits);
  if (layouts.empty())
    throw Error(ErrorKind::kUnsupported, "none of the dataset's images can be decoded");
  const auto [bands, bits] = *layouts.begin();
  bool same_bands = true, same_bits = true, same_numbers = true;
  for (const auto& layout : layouts) {
    same_bands = same_bands && layout.first == bands;
    same_bits = same_bits && layout.second == bits;
    same_numbers = same_numbers && is_float(layout) == (bits == 32);
  }
  const auto refuse = [&](const char* how, const char* advice) {
    throw Error(ErrorKind::kUnsupported,
                std::string("the dataset's images have ") + how + ": " + words_of(layouts), {},
                advice);
  };
  if (wanted.of != 0 && !(same_bands && bands == wanted.of))
    throw Error(ErrorKind::kUsage, "the dataset's images have other bands than the " +
                                       std::to_string(wanted.of) +
                                       " that are wanted: " + words_of(layouts));
  if (wanted.numbers.empty() && !same_bands)
    refuse("different numbers of bands", "give `bands=` with numbers that all images have");
  if (!same_numbers) refuse("integers and floating-point numbers", "pack them as two datasets");
  if (!same_bits && !wanted.mixed_bits)
    refuse("different numbers of bits",
           "give `mixed_bits=true`: each number is then a fraction of the highest of its bits");
  const bool integers =
      options.format.type == PixelType::kUint8 || options.format.type == PixelType::kUint16;
  if (bits == 32 && integers)
    throw Error(ErrorKind::kUsage,
                "the dataset has floating-point numbers: choose float32 or float16");
  if (options.format.type == PixelType::kUint8 && !(same_bits && bits == 8))
    throw Error(ErrorKind::kUsage, "the dataset has 16 bits: choose uint16, float32 or float16");
  BandChoice choice{.numbers = wanted.numbers, .bits = same_bits ? bits : 0};
  if (choice.numbers.empty()) {
    choice.of = bands;
    choice.numbers = all_bands({bands, bits});
  }
  for (const auto& layout : layouts) {
    for (const int number : choice.numbers) {
      if (number >= layout.first)
        throw Error(ErrorKind::kUsage, "there is no band " + std::to_string(number) +
                                           ", counted from 0, in images of " +
                                           std::to_string(layout.first) + " bands");
    }
  }
  return choice;
}

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
      "`fit(channels=N)`)");
}

}  // namespace packhorse::reader

#include "inspect/show_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/output_file.h"
#include "base/text.h"
#include "common/outputs.h"
#include "common/terminal.h"
#include "dataset/shard_index.h"
#include "drawing/draw_objects.h"
#include "drawing/encoded.h"
#include "image/npy.h"
#include "inspect/sample_words.h"
#include "inspect/summary_text.h"
#include "inspect/tile.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/base/error.h"

namespace packhorse::inspect {

using drawing::Chroma;
using drawing::encoded;
using drawing::kMostDrawn;

void ShowAction::setup(CLI::App& app) {
  auto* show =
      app.add_option("--show", show_, "Show the sample with this number, key or source path");
  auto* output =
      program::add_output(app, "-o,--output", output_,
                          "With --show: write the image's bytes to this file (- = standard output)",
                          OutputContent::kBytes)
          ->needs(show);
  auto* field = app.add_option("--field", field_, "With -o: write this extra field's bytes instead")
                    ->needs(output);
  app.add_flag("--draw", draw_,
               "With -o: write the upright picture with its objects drawn instead (.jpg, .png)")
      ->needs(output)
      ->excludes(field);
}

int ShowAction::run(const std::vector<std::filesystem::path>& paths) const {
  if (paths.size() != 1) {
    throw Error(ErrorKind::kUsage, "--show needs one dataset, but there are several here",
                request_.path, "give one of the splits, e.g. " + paths.front().string());
  }
  const PackedDataset dataset(paths.front());
  const std::size_t sample = find(dataset);
  const std::vector<std::byte> bytes = draw_ ? drawn(dataset, sample) : bytes_of(dataset, sample);
  if (output_ == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return program::kDone;
  }
  if (!output_.empty() && write_output(output_, bytes)) return program::kDone;
  fmt::print("{}", request_.json ? exact_json_text(sample_json(dataset, sample))
                                 : sample_line(dataset, sample));
  return program::kDone;
}

/// Finds a sample by number, by path (which has a dot or a slash in it), or by key. Keys begin with
/// a zero or are long, so a short number is a sample number.
std::size_t ShowAction::find(const PackedDataset& dataset) const {
  if (const auto number = parse_number<std::size_t>(show_); number && show_.size() < 9) {
    if (*number < dataset.size()) return *number;
    throw Error(ErrorKind::kNotFound,
                fmt::format("there is no sample {}: the last is {}", *number, dataset.size() - 1),
                dataset.path(), "`packhorse inspect --list` shows all of them");
  }
  if (show_.find_first_of("./") != std::string::npos) {
    for (std::size_t sample = 0; sample < dataset.size(); ++sample) {
      const PackedDataset::Place at = dataset.place(sample);
      if (dataset.index(at.shard)->path(at.row) == show_) return sample;
    }
  }
  return dataset.find(show_);
}

/// The picture with its objects, as a file.
std::vector<std::byte> ShowAction::drawn(const PackedDataset& dataset, std::size_t sample) const {
  if (!objects_target(dataset) && !find_target(dataset, kMaskTarget)) {
    throw Error(ErrorKind::kUsage,
                "--draw has no effect: the dataset has no objects and no masks to draw",
                dataset.path(), "leave it out: -o alone writes the image");
  }
  const Tile tile = make_picture(dataset, sample, request_.limits);
  if (!tile.bands.empty())
    fmt::print(stderr, "note: drawn over {}, from the least to the greatest number\n",
               bands_text(tile.bands));
  if (tile.objects > kMostDrawn) {
    fmt::print(stderr, "note: only the largest {} of {} objects are drawn\n",
               program::with_commas(kMostDrawn), program::with_commas(tile.objects));
  }
  return encoded(tile.picture, Chroma::kFull, drawing::extension_of(output_));
}

/// The bytes of a field, or of the image as a file; raw pixels become a NumPy file.
std::vector<std::byte> ShowAction::bytes_of(const PackedDataset& dataset,
                                            std::size_t sample) const {
  std::vector<std::byte> bytes;
  if (!field_.empty()) {
    const std::vector<std::string>& fields = dataset.fields();
    const auto found = std::ranges::find(fields, field_);
    if (found == fields.end() ||
        !dataset.read_field(sample, static_cast<std::size_t>(found - fields.begin()), bytes)) {
      throw Error(ErrorKind::kNotFound, "the sample has no field '" + field_ + "'", dataset.path(),
                  "`packhorse inspect --show " + show_ + " --json` lists them");
    }
    return bytes;
  }
  dataset.read(sample, bytes);
  if (const ImageInfo image = dataset.image(sample); image.kind == ImageKind::kRaw) {
    const std::string header = npy_header(image);
    const Bytes head = as_bytes(header);
    bytes.insert(bytes.begin(), head.begin(), head.end());
  }
  return bytes;
}

}  // namespace packhorse::inspect

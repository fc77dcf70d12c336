// Compares packhorse::jpeg with libjpeg-turbo on damaged files. libjpeg must decode without a
// warning, to the same pixels, whatever we decode. Windows must have the pixels of the whole
// picture, and scaled pictures and coefficients its verdict.
//
//     jpeg_differential [--runs N] [--seconds N] [--seed N] [--photos FOLDER] [--max-bytes N]
//                       [--save FOLDER]
//
// The last line on stdout is a JSON object of counts. Exits with 1 at the first difference, and
// writes that file into the given folder. docs/design.md has the command of a long run.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "guarded.h"
#include "jpeg/decode/coefficients.h"
#include "seeds.h"
#include "verdict.h"

namespace {

using packhorse::Bytes;
using packhorse::fuzz::File;
using packhorse::fuzz::Verdict;
namespace jpeg = packhorse::jpeg;

struct Counts {
  std::uint64_t runs = 0, both_decode = 0, both_refuse = 0, only_libjpeg = 0, windows = 0;
  std::array<std::uint64_t, jpeg::kReasons> refused{};  // by reason, where libjpeg decodes
};

/// Reads only the first coefficient of each row.
class Rows : public jpeg::CoefficientSink {
 public:
  void take_mcu_row(const std::int16_t* blocks) override { first_ = *blocks; }

 private:
  std::int16_t first_ = 0;
};

class Trial {
 public:
  Trial(std::uint64_t max_pixels, std::size_t max_bytes, std::mt19937_64& random)
      : max_pixels_(max_pixels), random_(random), input_(max_bytes) {}

  /// Describes the first difference; returns nothing when there is none.
  std::optional<std::string> run(const File& made) {
    const Bytes file = random_() % 4 == 0 ? input_.at_begin(made) : input_.at_end(made);
    ++counts.runs;
    ask_libjpeg(file, max_pixels_, verdict_);
    const jpeg::Result header = jpeg::decode(file, {0, 0, 1, 1}, {memory_, 3}, scratch_);
    if (std::uint64_t{header.width} * header.height > max_pixels_) return std::nullopt;
    const jpeg::Window all{0, 0, std::max(1u, header.width), std::max(1u, header.height)};
    const jpeg::Reason reason = decode(file, all);
    if (reason != jpeg::Reason::kNone) {
      ++(verdict_.clean ? counts.only_libjpeg : counts.both_refuse);
      if (verdict_.clean) ++counts.refused[static_cast<std::size_t>(reason)];
    } else {
      ++counts.both_decode;
      if (!verdict_.clean) return "libjpeg says: " + verdict_.message;
      if (header.width != verdict_.width || header.height != verdict_.height) return "other size";
      if (!same_as_libjpeg(all)) return "other pixels";
    }
    const bool decodes = reason == jpeg::Reason::kNone;
    if (header.width > 0 && !try_scaled(file, header, decodes)) return "other verdict when scaled";
    if (jpeg::decode_coefficients(file, rows_, scratch_).done() != decodes) {
      return "other verdict of coefficients";
    }
    return verdict_.clean ? try_window(file, decodes) : std::nullopt;
  }

  Counts counts;

 private:
  jpeg::Reason decode(Bytes file, const jpeg::Window& window,
                      jpeg::Scale scale = jpeg::Scale::kWhole) {
    const std::size_t stride = std::size_t{3} * window.width, bytes = stride * window.height;
    std::vector<std::uint8_t>(bytes).swap(memory_);  // a sanitizer sees where it ends
    return jpeg::decode(file, window, {memory_, stride}, scratch_, scale).reason;
  }

  bool same_as_libjpeg(const jpeg::Window& window) const {
    const std::size_t row = std::size_t{3} * window.width;
    for (std::uint32_t y = 0; y < window.height; ++y) {
      const std::size_t at = (std::size_t{window.y + y} * verdict_.width + window.x) * 3;
      if (std::memcmp(memory_.data() + row * y, verdict_.pixels.data() + at, row) != 0)
        return false;
    }
    return true;
  }

  /// The scan is the same, so the verdict must be.
  bool try_scaled(Bytes file, const jpeg::Result& header, bool must_decode) {
    const std::uint32_t scale = 2u << random_() % 3;
    const jpeg::Window all{0, 0, (header.width + scale - 1) / scale,
                           (header.height + scale - 1) / scale};
    return (decode(file, all, static_cast<jpeg::Scale>(scale)) == jpeg::Reason::kNone) ==
           must_decode;
  }

  std::optional<std::string> try_window(Bytes file, bool must_decode) {
    const auto draw = [&](std::uint32_t size, std::uint32_t& from, std::uint32_t& length) {
      length = 1 + static_cast<std::uint32_t>(random_() % size);
      from = static_cast<std::uint32_t>(random_() % (size - length + 1));
    };
    jpeg::Window window;
    draw(verdict_.width, window.x, window.width);
    draw(verdict_.height, window.y, window.height);
    const bool decodes = decode(file, window) == jpeg::Reason::kNone;
    counts.windows += decodes ? 1 : 0;
    const bool good = decodes ? same_as_libjpeg(window) : !must_decode;
    if (good) return std::nullopt;
    return fmt::format("window {},{} {}x{}", window.x, window.y, window.width, window.height);
  }

  std::uint64_t max_pixels_;
  std::mt19937_64& random_;
  packhorse::fuzz::GuardedMemory input_;
  Verdict verdict_;
  Rows rows_;
  jpeg::Scratch scratch_;
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(3);
};

struct Options {
  std::uint64_t runs = 20000, seed = 1;
  double seconds = 1e9;
  std::size_t max_bytes = 20000;
  std::string photos, save = ".";
};

void print(const Counts& c) {
  std::string reasons;
  for (std::size_t i = 0; i < c.refused.size(); ++i) {
    if (c.refused[i] == 0) continue;
    reasons += fmt::format("{}\"{}\": {}", reasons.empty() ? "" : ", ",
                           jpeg::name_of(static_cast<jpeg::Reason>(i)), c.refused[i]);
  }
  fmt::print(
      "{{\"runs\": {}, \"both_decode\": {}, \"both_refuse\": {}, \"only_libjpeg\": {}, "
      "\"windows\": {}, \"only_libjpeg_by_reason\": {{{}}}}}\n",
      c.runs, c.both_decode, c.both_refuse, c.only_libjpeg, c.windows, reasons);
}

int run(const Options& options) {
  std::mt19937_64 random(options.seed);
  std::vector<File> seeds = packhorse::fuzz::made_seeds(400, random);
  if (!options.photos.empty()) {
    for (File& photo : packhorse::fuzz::photo_seeds(options.photos, options.max_bytes)) {
      seeds.push_back(std::move(photo));
    }
  }
  fmt::print(stderr, "{} seeds\n", seeds.size());
  constexpr std::uint64_t kMaxPixels = 1 << 20;
  std::size_t most_bytes = options.max_bytes * 2;
  for (const File& seed : seeds) most_bytes = std::max(most_bytes, seed.size());
  Trial trial(kMaxPixels, most_bytes, random);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < options.runs; ++i) {
    if (i % 1024 == 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
            options.seconds) {
      break;
    }
    File file = seeds[random() % seeds.size()];
    if (i >= seeds.size()) packhorse::fuzz::mutate(file, seeds, options.max_bytes * 2, random);
    if (const std::optional<std::string> difference = trial.run(file)) {
      const std::string path = fmt::format("{}/finding-{}-{}.jpg", options.save, options.seed, i);
      packhorse::write_file(path, file);
      fmt::print(stderr, "{}: {}\n", path, *difference);
      return 1;
    }
  }
  print(trial.counts);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds packhorse's JPEG decoder against libjpeg-turbo on damaged files");
  app.add_option("--runs", options.runs, "files to try");
  app.add_option("--seconds", options.seconds, "or fewer, as many as this allows");
  app.add_option("--seed", options.seed, "of the random numbers");
  app.add_option("--photos", options.photos, "folder of JPEGs to start from, too");
  app.add_option("--max-bytes", options.max_bytes, "of a photo");
  app.add_option("--save", options.save, "folder for files that differ");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "jpeg_differential: {}\n", error.what());
    return 1;
  }
}

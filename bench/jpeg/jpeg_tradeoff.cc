// How many bytes the restart markers of `roi` images and shorter Huffman codes cost, and what they
// gain: the same photos, coded in each way, decoded in turns on one thread. JSON on stdout;
// bench/jpeg turns it into a table.
//
//     jpeg_tradeoff FOLDER [--repeats N] [--limit N]
#include <fmt/core.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "crop_scaler.h"
#include "jpeg/encode/transcode.h"
#include "photos.h"

namespace {

namespace bench = packhorse::bench;
namespace jpeg = packhorse::jpeg;

/// One way to code the photos.
struct Variant {
  int restart_mcus = 4;
  std::size_t max_code_bits = 16;
  std::size_t bytes = 0;
  std::vector<bench::File> files = {};
  std::vector<double> whole = {}, crop = {}, scaled = {};  ///< CPU seconds a repetition
};

std::vector<Variant> variants() {
  constexpr int kRow = 8192;
  std::vector<Variant> all;
  for (const int restart_mcus : {1, 2, 3, 4, 6, 8, 16, kRow}) all.push_back({restart_mcus});
  for (const std::size_t bits : {13u, 12u, 11u, 10u, 9u}) all.push_back({4, bits});
  return all;
}

void code(std::span<const bench::Jpeg> photos, Variant& variant) {
  for (const bench::Jpeg& photo : photos) {
    bench::File& file = variant.files.emplace_back();
    packhorse::encode::transcode(photo.file, photo.info, variant.restart_mcus, file,
                                 variant.max_code_bits);
    variant.bytes += file.size();
  }
}

/// Of this thread: what else the machine does counts less.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Decoder {
 public:
  double seconds(const bench::File& file, const jpeg::Window& window) {
    const std::size_t stride = std::size_t{3} * window.width;
    pixels_.resize(stride * window.height);
    const double begin = cpu_seconds();
    (void)jpeg::decode(file, window, {pixels_, stride}, scratch_);
    return cpu_seconds() - begin;
  }
  /// And scaled, as the reader does it.
  double scaled_seconds(const bench::File& file, const packhorse::ImageInfo& info,
                        const jpeg::Window& crop) {
    const double begin = cpu_seconds();
    scaler_.run(file, info.width, info.height, crop, bench::CropScaler::kRowByRow);
    return cpu_seconds() - begin;
  }

 private:
  jpeg::Scratch scratch_;
  bench::CropScaler scaler_;
  std::vector<std::uint8_t> pixels_;
};

/// Some photos in one variant, then in the next: never the same photo twice in a row, whose tables
/// would be there already.
void measure_once(std::span<const bench::Jpeg> photos, std::span<Variant> all, Decoder& decoder) {
  constexpr std::size_t kTurn = 10;
  std::mt19937 random(1);
  std::vector<jpeg::Window> crops;
  for (const bench::Jpeg& photo : photos) {
    crops.push_back(bench::draw_crop(photo.info.width, photo.info.height, random));
  }
  for (Variant& variant : all) {
    variant.whole.push_back(0);
    variant.crop.push_back(0);
    variant.scaled.push_back(0);
  }
  for (std::size_t at = 0; at < photos.size(); at += kTurn) {
    const std::size_t end = std::min(photos.size(), at + kTurn);
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      Variant& variant = all[(turn + at / kTurn) % all.size()];
      for (std::size_t i = at; i < end; ++i) {
        const jpeg::Window whole{0, 0, photos[i].info.width, photos[i].info.height};
        variant.whole.back() += decoder.seconds(variant.files[i], whole);
      }
      for (std::size_t i = at; i < end; ++i) {
        variant.crop.back() += decoder.seconds(variant.files[i], crops[i]);
      }
      for (std::size_t i = at; i < end; ++i) {
        variant.scaled.back() += decoder.scaled_seconds(variant.files[i], photos[i].info, crops[i]);
      }
    }
  }
}

nlohmann::ordered_json rates_of(const std::vector<double>& seconds, std::size_t photos) {
  nlohmann::ordered_json rates = nlohmann::ordered_json::array();
  // The first is not counted.
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    rates.push_back(static_cast<double>(photos) / seconds[i]);
  }
  return rates;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  int repeats = 5;
  std::size_t limit = 200;
  CLI::App app("Measures what restart markers and short codes cost and gain");
  app.add_option("folder", folder, "of JPEGs")->required();
  app.add_option("--repeats", repeats, "of each way to code");
  app.add_option("--limit", limit, "photos to take");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<bench::Jpeg> photos = bench::jpegs_in(folder, limit);
    std::vector<Variant> all = variants();
    for (Variant& variant : all) code(photos, variant);
    Decoder decoder;
    for (int repeat = -1; repeat < repeats; ++repeat) measure_once(photos, all, decoder);
    std::size_t bytes = 0;
    for (const bench::Jpeg& photo : photos) bytes += photo.file.size();
    nlohmann::ordered_json result{{"photos", photos.size()}, {"original_bytes", bytes}};
    for (const Variant& v : all) {
      result["variants"].push_back({{"restart_mcus", v.restart_mcus},
                                    {"max_code_bits", v.max_code_bits},
                                    {"bytes", v.bytes},
                                    {"whole", rates_of(v.whole, photos.size())},
                                    {"crop", rates_of(v.crop, photos.size())},
                                    {"scaled", rates_of(v.scaled, photos.size())}});
    }
    fmt::print("{}\n", result.dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "jpeg_tradeoff: {}\n", error.what());
    return 1;
  }
}

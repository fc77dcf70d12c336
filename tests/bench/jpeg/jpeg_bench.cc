// Measures packhorse::jpeg beside libjpeg-turbo on one thread: the same files, one decoder after
// the other in each repetition, so that what else the machine does hits all of them alike. JSON on
// stdout; tests/bench/jpeg turns it into tables.
//
//     jpeg_bench FOLDER [--repeats N] [--limit N] [--threads N]
#include <fmt/core.h>

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <thread>

#include "packhorse/file.h"
#include "packhorse/image_info.h"
#include "packhorse/jpeg.h"
#include "packhorse/transform.h"

namespace {

namespace fs = std::filesystem;
namespace jpeg = packhorse::jpeg;
using File = std::vector<std::byte>;
using Pixels = std::vector<std::uint8_t>;

struct Photo {
  File original, roi;
  std::uint32_t width = 0, height = 0;
  jpeg::Window crop;  ///< of a RandomResizedCrop
};

/// As torchvision draws it: 8 to 100 % of the area, sides of 3:4 to 4:3.
jpeg::Window draw_crop(std::uint32_t width, std::uint32_t height, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = width * double{1} * height * (0.08 + 0.92 * unit(random));
    const double ratio = std::exp((2 * unit(random) - 1) * std::log(4.0 / 3));
    const auto w = static_cast<std::uint32_t>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<std::uint32_t>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    return {static_cast<std::uint32_t>(unit(random) * (width - w)),
            static_cast<std::uint32_t>(unit(random) * (height - h)), w, h};
  }
  return {0, 0, width, height};
}

std::vector<Photo> load(const fs::path& folder, std::size_t limit, int restart_mcus) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  packhorse::TransformOptions options;
  options.restart_mcus = restart_mcus;
  const auto roi = packhorse::find_transform("roi").make(options);
  std::mt19937 random(1);
  std::vector<Photo> photos;
  for (const fs::path& path : paths) {
    if (photos.size() == limit) break;
    Photo photo{packhorse::read_file(path), {}, 0, 0, {}};
    const packhorse::ProbeResult probe = packhorse::probe_image(photo.original);
    if (!probe.info || probe.info->kind != packhorse::ImageKind::kJpeg ||
        probe.info->components == 4) {
      continue;
    }
    packhorse::ImageInfo info = *probe.info;
    std::vector<std::byte> output;
    const packhorse::Transformed made = roi->apply(photo.original, info, output);
    photo.roi.assign(made.bytes.begin(), made.bytes.end());
    photo.width = info.width;
    photo.height = info.height;
    photo.crop = draw_crop(photo.width, photo.height, random);
    photos.push_back(std::move(photo));
  }
  return photos;
}

/// libjpeg-turbo, the whole picture or its crop/skip functions. Ends the program at damage.
void by_libjpeg(const File& file, const jpeg::Window* crop, Pixels& pixels) {
  jpeg_decompress_struct session{};
  jpeg_error_mgr errors{};
  session.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&session);
  jpeg_mem_src(&session, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&session, TRUE);
  session.out_color_space = JCS_RGB;
  jpeg_start_decompress(&session);
  JDIMENSION rows = session.output_height;
  if (crop != nullptr) {
    const std::uint32_t margin = 4, left = crop->x > margin ? crop->x - margin : 0;
    JDIMENSION x = left;
    JDIMENSION width = std::min(session.output_width, crop->x + crop->width + margin) - left;
    jpeg_crop_scanline(&session, &x, &width);
    if (crop->y > 0) jpeg_skip_scanlines(&session, crop->y);
    rows = crop->height;
  }
  const std::size_t stride = std::size_t{session.output_width} * 3;
  pixels.resize(stride * rows);
  for (JDIMENSION done = 0; done < rows;) {
    JSAMPROW burst[16];
    const JDIMENSION n = std::min<JDIMENSION>(16, rows - done);
    for (JDIMENSION i = 0; i < n; ++i) burst[i] = pixels.data() + stride * (done + i);
    done += jpeg_read_scanlines(&session, burst, n);
  }
  jpeg_destroy_decompress(&session);
}

/// As the reader does it: ours, and libjpeg for what it refuses.
void by_ours(const File& file, const jpeg::Window& window, bool whole, jpeg::Scratch& scratch,
             Pixels& pixels) {
  const std::size_t stride = std::size_t{3} * window.width;
  pixels.resize(stride * window.height);
  if (jpeg::decode(file, window, {pixels, stride}, scratch).done()) return;
  by_libjpeg(file, whole ? nullptr : &window, pixels);
}

struct Worker {
  jpeg::Scratch scratch;
  Pixels pixels;
};

struct Contender {
  std::string name;
  std::function<void(const Photo&, Worker&)> decode;
  std::vector<double> rates = {};  ///< photos a second
};

std::vector<Contender> contenders() {
  const auto all = [](const Photo& p) { return jpeg::Window{0, 0, p.width, p.height}; };
  return {
      {"original, whole: libjpeg-turbo",
       [](const Photo& p, Worker& w) { by_libjpeg(p.original, nullptr, w.pixels); }},
      {"original, whole: packhorse",
       [=](const Photo& p, Worker& w) { by_ours(p.original, all(p), true, w.scratch, w.pixels); }},
      {"original, crop: libjpeg-turbo crop/skip",
       [](const Photo& p, Worker& w) { by_libjpeg(p.original, &p.crop, w.pixels); }},
      {"original, crop: packhorse",
       [](const Photo& p, Worker& w) { by_ours(p.original, p.crop, false, w.scratch, w.pixels); }},
      {"roi, whole: libjpeg-turbo",
       [](const Photo& p, Worker& w) { by_libjpeg(p.roi, nullptr, w.pixels); }},
      {"roi, whole: packhorse",
       [=](const Photo& p, Worker& w) { by_ours(p.roi, all(p), true, w.scratch, w.pixels); }},
      {"roi, crop: libjpeg-turbo crop/skip",
       [](const Photo& p, Worker& w) { by_libjpeg(p.roi, &p.crop, w.pixels); }},
      {"roi, crop: packhorse",
       [](const Photo& p, Worker& w) { by_ours(p.roi, p.crop, false, w.scratch, w.pixels); }},
  };
}

double seconds_of(const Contender& contender, std::span<const Photo> photos,
                  std::vector<Worker>& workers) {
  const auto start = std::chrono::steady_clock::now();
  const auto work = [&](std::size_t first) {
    for (std::size_t i = first; i < photos.size(); i += workers.size()) {
      contender.decode(photos[i], workers[first]);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < workers.size(); ++i) others.emplace_back(work, i);
  work(0);
  others.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds that each contender took for all photos.
std::vector<double> measure_once(const std::vector<Contender>& all, std::span<const Photo> photos,
                                 std::vector<Worker>& workers) {
  constexpr std::size_t kTurn = 25;  // photos
  std::vector<double> seconds(all.size());
  for (std::size_t at = 0; at < photos.size(); at += kTurn) {
    const auto turn = photos.subspan(at, std::min(kTurn, photos.size() - at));
    for (std::size_t i = 0; i < all.size(); ++i) seconds[i] += seconds_of(all[i], turn, workers);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  int repeats = 5, restart_mcus = 4;
  std::size_t limit = 200, threads = 1;
  CLI::App app("Measures packhorse's JPEG decoder beside libjpeg-turbo");
  app.add_option("folder", folder, "of JPEGs")->required();
  app.add_option("--repeats", repeats, "of each decoder");
  app.add_option("--limit", limit, "photos to take");
  app.add_option("--threads", threads, "to decode with");
  app.add_option("--restart-mcus", restart_mcus, "of the roi images");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<Photo> photos = load(folder, limit, restart_mcus);
    std::vector<Worker> workers(std::max<std::size_t>(1, threads));
    std::vector<Contender> all = contenders();
    for (int repeat = -1; repeat < repeats; ++repeat) {  // the first is not counted
      const std::vector<double> seconds = measure_once(all, photos, workers);
      for (std::size_t i = 0; repeat >= 0 && i < all.size(); ++i) {
        all[i].rates.push_back(static_cast<double>(photos.size()) / seconds[i]);
      }
    }
    nlohmann::ordered_json result{{"photos", photos.size()}, {"threads", workers.size()}};
    for (const Contender& contender : all) result["rates"][contender.name] = contender.rates;
    fmt::print("{}\n", result.dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "jpeg_bench: {}\n", error.what());
    return 1;
  }
}

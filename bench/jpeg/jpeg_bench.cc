// Measures packhorse::jpeg beside libjpeg-turbo: the same files, one decoder after
// the other in each repetition, so that what else the machine does hits all of them alike. JSON on
// stdout; bench/jpeg turns it into tables.
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

#include "base/file.h"
#include "codecs/image_header.h"
#include "jpeg/encode/transcode.h"
#include "packhorse/image/image_info.h"
#include "packhorse/jpeg/decoder.h"
#include "transforms/transform.h"

namespace {

namespace jpeg = packhorse::jpeg;
namespace encode = packhorse::encode;
using File = std::vector<std::byte>;
using Pixels = std::vector<std::uint8_t>;

struct Jpeg {
  File file;
  packhorse::ImageInfo info;
};

/// The first `limit` JPEGs of a folder and those in it, by path, but for CMYK.
std::vector<Jpeg> jpegs_in(const std::filesystem::path& folder, std::size_t limit) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Jpeg> jpegs;
  for (const std::filesystem::path& path : paths) {
    if (jpegs.size() == limit) break;
    File file = packhorse::read_file(path);
    const packhorse::ProbeResult probe = packhorse::probe_image(file);
    if (!probe.info || probe.info->kind != packhorse::ImageKind::kJpeg ||
        probe.info->components == 4)
      continue;
    jpegs.push_back({std::move(file), *probe.info});
  }
  return jpegs;
}

/// The crop of a RandomResizedCrop, as torchvision draws it: 8 to 100 % of the area, sides of 3:4
/// to 4:3.
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

struct Picture {
  File file;
  std::uint32_t width = 0, height = 0;
  jpeg::Window crop;  ///< of a RandomResizedCrop
  jpeg::Window all() const { return {0, 0, width, height}; }
};

/// One photo, as it is and as `packhorse pack --image roi` and `resize` make it.
struct Photo {
  packhorse::ImageInfo info;
  Picture original, roi, small;
};

Picture made_by(std::string_view mode, const packhorse::TransformOptions& options,
                const Picture& original, packhorse::ImageInfo info) {
  std::vector<std::byte> output;
  const auto made =
      packhorse::find_transform(mode).make(options)->apply(original.file, info, output);
  return {{made.bytes.begin(), made.bytes.end()}, info.width, info.height, {}};
}

std::vector<Photo> load(const std::filesystem::path& folder, std::size_t limit,
                        const packhorse::TransformOptions& options) {
  std::mt19937 random(1);
  std::vector<Photo> photos;
  for (auto& [file, info] : jpegs_in(folder, limit)) {
    Photo photo{info, {std::move(file), info.width, info.height, {}}, {}, {}};
    photo.roi = made_by("roi", options, photo.original, info);
    photo.small = made_by("resize", options, photo.original, info);
    photo.original.crop = photo.roi.crop =
        draw_crop(photo.original.width, photo.original.height, random);
    photo.small.crop = draw_crop(photo.small.width, photo.small.height, random);
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
  encode::ScanCoder coder;
  File output;
};

struct Contender {
  std::string name;
  std::function<void(const Photo&, Worker&)> decode;
  std::vector<double> rates = {};  ///< photos a second
};

/// ours and libjpeg-turbo's, for the whole of a picture and for its crop.
void add_decoders(const std::string& name, Picture Photo::*which, std::vector<Contender>& all) {
  all.push_back({name + ", whole: libjpeg-turbo", [=](const Photo& photo, Worker& w) {
                   by_libjpeg((photo.*which).file, nullptr, w.pixels);
                 }});
  all.push_back({name + ", whole: packhorse", [=](const Photo& photo, Worker& w) {
                   const Picture& p = photo.*which;
                   by_ours(p.file, p.all(), true, w.scratch, w.pixels);
                 }});
  all.push_back({name + ", crop: libjpeg-turbo crop/skip", [=](const Photo& photo, Worker& w) {
                   const Picture& p = photo.*which;
                   by_libjpeg(p.file, &p.crop, w.pixels);
                 }});
  all.push_back({name + ", crop: packhorse", [=](const Photo& photo, Worker& w) {
                   const Picture& p = photo.*which;
                   by_ours(p.file, p.crop, false, w.scratch, w.pixels);
                 }});
}

/// What `packhorse pack --image roi` does.
void add_transcoders(std::vector<Contender>& all) {
  all.push_back({"transcode: through libjpeg-turbo", [](const Photo& photo, Worker& w) {
                   encode::transcode_by_libjpeg(photo.original.file, photo.info, 4,
                                                encode::kMaxCodeBits, w.coder, w.output);
                 }});
  all.push_back({"transcode: packhorse", [](const Photo& photo, Worker& w) {
                   encode::transcode(photo.original.file, photo.info, 4, w.output);
                 }});
}

std::vector<Contender> contenders() {
  std::vector<Contender> all;
  add_transcoders(all);
  for (const auto& [name, which] : {std::pair{"original", &Photo::original},
                                    {"roi", &Photo::roi},
                                    {"short side 256", &Photo::small}}) {
    add_decoders(name, which, all);
  }
  return all;
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
    packhorse::TransformOptions transform;
    transform.restart_mcus = restart_mcus;
    const std::vector<Photo> photos = load(folder, limit, transform);
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

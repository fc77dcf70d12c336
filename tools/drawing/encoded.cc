#include "drawing/encoded.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <strings.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <span>

#include "base/output_file.h"
#include "codecs/encode.h"
#include "packhorse/base/error.h"

namespace packhorse::drawing {

namespace {

constexpr int kJpegQuality = 88;

std::vector<std::byte> encoded_jpeg(const cv::Mat& picture, Chroma chroma) {
  jpeg_error_mgr errors{};
  jpeg_compress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors);
  std::jmp_buf jump{};
  jpeg.client_data = &jump;
  errors.error_exit = [](j_common_ptr failed) {
    std::longjmp(*static_cast<std::jmp_buf*>(failed->client_data), 1);  // NOLINT(cert-err52-cpp)
  };
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  // Nothing with a destructor is made below, where libjpeg may jump out.
  if (setjmp(jump) != 0) {  // NOLINT(cert-err52-cpp): libjpeg's only way
    char message[JMSG_LENGTH_MAX] = {};
    errors.format_message(reinterpret_cast<j_common_ptr>(&jpeg), message);
    jpeg_destroy_compress(&jpeg);
    std::free(memory);
    throw Error(ErrorKind::kUsage, std::string("the picture cannot be a JPEG: ") + message, {},
                "ask for fewer or smaller samples");
  }
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.cols);
  jpeg.image_height = static_cast<JDIMENSION>(picture.rows);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_EXT_BGR;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kJpegQuality, TRUE);
  if (chroma == Chroma::kFull)
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(picture.ptr(static_cast<int>(jpeg.next_scanline)));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owned(memory, &std::free);
  const auto* const begin = reinterpret_cast<const std::byte*>(memory);
  return {begin, begin + size};
}

std::vector<std::byte> encoded_png(const cv::Mat& picture) {
  cv::Mat rgb;
  cv::cvtColor(picture, rgb, cv::COLOR_BGR2RGB);
  std::vector<std::byte> png;
  encode_png({ImageKind::kRaw, 3, 8, 1, static_cast<std::uint32_t>(rgb.cols),
              static_cast<std::uint32_t>(rgb.rows)},
             std::as_bytes(std::span(rgb.data, rgb.total() * rgb.elemSize())), png);
  return png;
}

bool is_any_of(const std::string& extension, std::initializer_list<const char*> known) {
  return std::ranges::any_of(
      known, [&](const char* one) { return ::strcasecmp(extension.c_str(), one) == 0; });
}

}  // namespace

std::vector<std::byte> encoded(const cv::Mat& picture, Chroma chroma,
                               const std::string& extension) {
  if (is_any_of(extension, {".jpg", ".jpeg", ".jpe"})) return encoded_jpeg(picture, chroma);
  if (is_any_of(extension, {".png"})) return encoded_png(picture);
  throw Error(ErrorKind::kUsage, "'" + extension + "' is not a supported picture format", {},
              "give a file name that ends in .jpg or .png");
}

std::string extension_of(const std::filesystem::path& file) {
  const std::string extension = file.extension();
  return extension.empty() && is_stream(file) ? ".jpg" : extension;
}

}  // namespace packhorse::drawing

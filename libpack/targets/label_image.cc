#include "packhorse/targets/label_image.h"

#include <png.h>

#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

/// What libpng's callbacks see. An exception must not pass through libpng, nor may its longjmp pass
/// over objects with destructors: those live outside of the functions that call setjmp().
struct PngInput {
  Bytes rest;
  std::array<char, 128> message{};
};

void give_bytes(png_structp reader, png_bytep to, std::size_t size) {
  PngInput& input = *static_cast<PngInput*>(png_get_io_ptr(reader));
  if (size > input.rest.size()) png_error(reader, "it ends too early");
  std::memcpy(to, input.rest.data(), size);
  input.rest = input.rest.subspan(size);
}

void keep_message(png_structp reader, png_const_charp message) {
  PngInput& input = *static_cast<PngInput*>(png_get_error_ptr(reader));
  std::snprintf(input.message.data(), input.message.size(), "%s", message);
  png_longjmp(reader, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

/// One PNG being read.
class PngReader {
 public:
  explicit PngReader(Bytes png) : input_{png} {
    reader_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, keep_message, ignore_warning);
    if (reader_ == nullptr) throw std::bad_alloc();
    info_ = png_create_info_struct(reader_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&reader_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(reader_, &input_, give_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&reader_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void read_header() {
    if (!header_read()) refuse();
  }
  void read_rows(std::vector<png_bytep>& rows) {
    if (!rows_read(rows.data())) refuse();
  }
  std::uint32_t width() const { return png_get_image_width(reader_, info_); }
  std::uint32_t height() const { return png_get_image_height(reader_, info_); }
  int depth() const { return png_get_bit_depth(reader_, info_); }
  int colours() const { return png_get_color_type(reader_, info_); }

 private:
  bool header_read() {
    if (setjmp(png_jmpbuf(reader_)) != 0) return false;
    png_set_user_limits(reader_, PNG_USER_WIDTH_MAX, PNG_USER_HEIGHT_MAX);
    // Texts and profiles, which libpng would keep: a small file can hold gigabytes of them.
    png_set_keep_unknown_chunks(reader_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(reader_, info_);
    return true;
  }
  bool rows_read(png_bytepp rows) {
    if (setjmp(png_jmpbuf(reader_)) != 0) return false;
    png_set_packing(reader_);
    png_set_interlace_handling(reader_);
    png_read_update_info(reader_, info_);
    png_read_image(reader_, rows);
    png_read_end(reader_, nullptr);
    return true;
  }
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::kCorrupt,
                std::string("the mask is no whole PNG: ") + input_.message.data());
  }

  PngInput input_;
  png_structp reader_ = nullptr;
  png_infop info_ = nullptr;
};

void refuse_colours(const PngReader& reader) {
  const char* what = nullptr;
  if (reader.colours() != PNG_COLOR_TYPE_GRAY && reader.colours() != PNG_COLOR_TYPE_PALETTE)
    what = "colours: nobody says which class each stands for";
  if (reader.depth() > 8) what = "16 bits: classes are numbers of up to 8";
  if (what == nullptr) return;
  throw Error(ErrorKind::kUnsupported, std::string("the mask has ") + what, {},
              "make it a PNG whose pixels are numbers, grey or with a palette");
}

}  // namespace

LabelImage label_image_size(Bytes png) {
  PngReader reader(png);
  reader.read_header();
  return {reader.width(), reader.height(), {}};
}

LabelImage decode_label_image(Bytes png, std::uint32_t width, std::uint32_t height) {
  PngReader reader(png);
  reader.read_header();
  refuse_colours(reader);
  if (reader.width() != width || reader.height() != height) {
    const bool turned = reader.width() == height && reader.height() == width;
    throw Error(ErrorKind::kUnsupported,
                "the mask has " + std::to_string(reader.width()) + " x " +
                    std::to_string(reader.height()) + " pixels, the image as stored " +
                    std::to_string(width) + " x " + std::to_string(height) +
                    (turned ? ": it may belong to the turned image" : ""));
  }
  LabelImage image{width, height, std::vector<std::uint8_t>(std::size_t{width} * height)};
  std::vector<png_bytep> rows(height);
  for (std::uint32_t y = 0; y < height; ++y) rows[y] = image.labels.data() + std::size_t{y} * width;
  reader.read_rows(rows);
  return image;
}

}  // namespace packhorse

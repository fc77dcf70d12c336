#include "sources/fields/field_pattern.h"

#include <doctest/doctest.h>

#include "packhorse/base/error.h"
#include "sources/source.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

FieldPattern pattern(const std::string& text) { return FieldPattern({"seg.png", text, true}); }

const ImagePlace kCatImage = {"train", "cat", "cat/a", "a", "1_rgb"};

std::string file_of(const std::string& text, const ImagePlace& image = kCatImage) {
  return pattern(text).file_of(image).value_or("none");
}

}  // namespace

TEST_CASE("field pattern: a folder mirrors those of the images") {
  CHECK(file_of("masks") == "masks/cat/a/1_rgb.png");
  CHECK(file_of("./a//masks/") == "a/masks/cat/a/1_rgb.png");
  CHECK(file_of("masks/{split}") == "masks/train/cat/a/1_rgb.png");
  CHECK(file_of("{class}/masks") == "cat/masks/a/1_rgb.png");
  CHECK(file_of("{class}/{dir}/masks") == "cat/a/masks/1_rgb.png");
}

TEST_CASE("field pattern: placeholders are filled in") {
  CHECK(file_of("{split}/m/{dir}/{stem%_rgb}_{class}.gif") == "train/m/a/1_cat.gif");
  CHECK(file_of("m/{stem}/mask.png") == "m/1_rgb/mask.png");
  CHECK(file_of("m/{dir}/{stem}.png", {"", "", "", "", "1"}) == "m/1.png");
}

TEST_CASE("field pattern: what an image lacks makes no name") {
  CHECK(file_of("m/{stem%_depth}.png") == "none");
  CHECK(file_of("m/{stem%1_rgb}.png") == "none");
  CHECK(file_of("{split}/{stem}.png", {"", "", "", "", "1"}) == "none");
  CHECK(file_of("{class}/{stem}.png", {"", "", "", "", "1"}) == "none");
}

TEST_CASE("field pattern: a folder covers all that is in it") {
  const FieldPattern folder = pattern("a/{split}/masks");
  CHECK(folder.covers("a/train/masks"));
  CHECK(folder.covers("a/val/masks/cat"));
  CHECK_FALSE(folder.covers("a/train"));
  CHECK_FALSE(folder.covers("b/train/masks"));
  CHECK(folder.may_be("a/train/masks/readme.md"));
  CHECK_FALSE(folder.may_be("a/train/masks"));
  CHECK_FALSE(pattern("masks/{stem}.png").covers("masks"));
}

TEST_CASE("field pattern: files are told by their names") {
  const FieldPattern files = pattern("m/{dir}/{stem}_mask.png");
  CHECK(files.may_be("m/1_mask.png"));
  CHECK(files.may_be("m/cat/a/1_mask.png"));
  CHECK_FALSE(files.may_be("m/_mask.png"));
  CHECK_FALSE(files.may_be("m/1_mask.png.txt"));
  CHECK_FALSE(files.may_be("n/1_mask.png"));
  CHECK_FALSE(files.may_be("m"));
  CHECK(pattern("{class}_x_{stem}_y.png").may_be("a_x_x_b_y.png"));
  CHECK_FALSE(pattern("{class}_x_{stem}_y.png").may_be("a_x_y.png"));
}

TEST_CASE("field pattern: folders that it spells out") {
  const FieldPattern files = pattern("a/{split}_m/{dir}/b/{stem}.png");
  for (const char* folder : {"a", "a/x_m", "a/x_m/b", "a/x_m/c/d/b"}) CHECK(files.spells(folder));
  for (const char* folder : {"", "b", "a/x", "a/_m", "a/x_m/c"}) CHECK_FALSE(files.spells(folder));
}

TEST_CASE("field pattern: every image's own file may be it") {
  for (const char* text : {"masks", "{class}/m", "{split}/m/{dir}/{stem%_rgb}_{class}.gif"})
    CHECK(pattern(text).may_be(file_of(text)));
}

TEST_CASE("field pattern: what is none is refused") {
  for (const std::string text :
       {"", "/", ".", "..", "/m", "a/../m", "{stem", "{name}/{stem}", "{split}", "{dir}/{class}",
        "{dir}x/{stem}", "{dir}/{dir}/{stem}", "{stem}/{dir}", "{stem%}"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { pattern(text); }) == ErrorKind::kUsage);
  }
  CHECK(kind_of_error([] { pattern(std::string(2000, 'm')); }) == ErrorKind::kUsage);
  for (const char* text : {"", "a", "=m", "a=", "a=../m"})
    CHECK(kind_of_error([&] { parse_field_place(text, true); }) == ErrorKind::kUsage);
}

}  // namespace packhorse

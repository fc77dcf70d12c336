#include "image/npy.h"

#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

ImageInfo raw_of(std::uint32_t width, std::uint32_t height, std::uint8_t components) {
  return {ImageKind::kRaw, components, 8, 1, width, height};
}

/// A .npy file of version 1.0 with `text` in its header.
std::string npy_with(const std::string& text, const std::string& pixels) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size());
  file += '\0';
  return file + text + pixels;
}

constexpr const char* kGood = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 1), }";

}  // namespace

TEST_CASE("npy: a header has the bytes NumPy gives it") {
  const std::string header = npy_header(raw_of(256, 128, 3));
  REQUIRE(header.size() == 128);
  const std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': (128, 256, 3), }";
  CHECK(header == std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text +
                      std::string(117 - text.size(), ' ') + "\n");
}

TEST_CASE("npy: every header takes as many bytes") {
  for (const ImageInfo& image :
       {raw_of(1, 1, 1), raw_of(4294967295u, 4294967295u, 255), raw_of(65500, 65500, 4)}) {
    CHECK(npy_header(image).size() == kNpyHeaderBytes);
  }
}

TEST_CASE("npy: pixels are found behind the header") {
  const std::string pixels(7 * 5 * 3, 'p');
  const std::string file = npy_header(raw_of(7, 5, 3)) + pixels;
  CHECK(as_text(npy_pixels(as_bytes(file))) == pixels);
}

TEST_CASE("npy: a header of another length, as other writers make, is read") {
  CHECK(as_text(npy_pixels(as_bytes(npy_with(kGood, "abcdef")))) == "abcdef");
}

TEST_CASE("npy: what holds no rows of bytes, or not as many, is corrupt") {
  const std::string good = kGood;
  const auto with = [&](const char* from, const char* to) {
    std::string text = good;
    return npy_with(text.replace(text.find(from), std::string_view(from).size(), to), "abcdef");
  };
  for (const std::string& file :
       {std::string(), std::string("\x93NUMPY"), npy_with(good, "abcde"), npy_with(good, "abcdefg"),
        with("|u1", "<f4"), with("False", "True"), with("(2, 3, 1)", "(6,)"),
        with("(2, 3, 1)", "(2, 3)"), with("(2, 3, 1)", "(2, 3, 1, 1)"), with("(2, 3, 1)", "()"),
        with("(2, 3, 1)", "(-2, 3, -1)"), with(", 3, 1), }", ""), with("'shape'", "'other'"),
        with("(2, 3, 1)", "(4294967295, 4294967295, 4294967295)"),
        npy_with(good, "abcdef").substr(0, 40)}) {
    CAPTURE(file);
    CHECK(kind_of_error([&] { npy_pixels(as_bytes(file)); }) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("npy: a header says type, order and shape, in any order and version") {
  const NpyHeader header = parse_npy_header(
      as_bytes(npy_with("{\"shape\": (3,), 'fortran_order': True, 'descr': '>i2'}  \n", "abcdef")));
  CHECK(header.type == ">i2");
  CHECK(header.fortran_order);
  CHECK(header.shape == std::vector<std::uint64_t>{3});
  CHECK(header.bytes ==
        npy_with("{\"shape\": (3,), 'fortran_order': True, 'descr': '>i2'}  \n", "").size());
  std::string longer = npy_with(kGood, "abcdef");
  longer[6] = '\x02';
  longer.insert(10, 2, '\0');
  CHECK(parse_npy_header(as_bytes(longer)).shape == std::vector<std::uint64_t>{2, 3, 1});
  CHECK(parse_npy_header(
            as_bytes(npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "")))
            .shape.empty());
}

TEST_CASE("npy: a header that is none is corrupt") {
  for (const char* text :
       {"", "{", "{}", "[]", "{'descr': '|u1', 'shape': (2,), }",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|u1', 'fortran_order': No, 'shape': (2,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '|u1, 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { parse_npy_header(as_bytes(npy_with(text, "ab"))); }) ==
          ErrorKind::kCorrupt);
  }
  std::string version = npy_with(kGood, "abcdef");
  version[6] = '\x04';
  CHECK(kind_of_error([&] { parse_npy_header(as_bytes(version)); }) == ErrorKind::kCorrupt);
}

}  // namespace packhorse

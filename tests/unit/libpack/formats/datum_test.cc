#include "formats/lmdb/layout.h"
#include "support/support.h"

namespace packhorse::lmdb {

namespace {

using test::kind_of_error;
using namespace std::string_literals;

std::string value_of(const std::string& image, std::int64_t label) {
  const DatumFrame frame = frame_datum({}, image.size(), label);
  return frame.head + image + frame.tail;
}

bool is_corrupt(const std::string& value) {
  return kind_of_error([&] { parse_datum(as_bytes(value)); }) == ErrorKind::kCorrupt;
}

}  // namespace

TEST_CASE("datum: has the bytes protobuf gives it") {
  CHECK(value_of("abc", 5) ==
        "\x22\x03"
        "abc"
        "\x28\x05"
        "\x38\x01");
  CHECK(frame_datum({}, 300, 300).head == "\x22\xac\x02");
  CHECK(frame_datum({}, 300, 300).tail == "\x28\xac\x02\x38\x01");
}

TEST_CASE("datum: of raw pixels, says their size and that they are not encoded") {
  const DatumFrame frame = frame_datum({ImageKind::kRaw, 3, 8, 1, 256, 128}, 98304, 5);
  CHECK(frame.head ==
        "\x08\x03"
        "\x10\x80\x01"
        "\x18\x80\x02"
        "\x22\x80\x80\x06");
  CHECK(frame.tail == "\x28\x05\x38\x00"s);
  CHECK_FALSE(parse_datum(as_bytes(frame.head + std::string(98304, 'p') + frame.tail)).encoded);
}

TEST_CASE("datum: is read as it was framed") {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16383u, 16384u, 2097152u}) {
    for (const std::int64_t label : {0L, 1L, 127L, 128L, 2147483647L}) {
      const std::string image(size, 'x');
      const std::string value = value_of(image, label);
      const Datum datum = parse_datum(as_bytes(value));
      const bool same = as_text(datum.image) == image;
      CHECK(same);
      CHECK(datum.label == label);
      CHECK(datum.encoded);
    }
  }
}

TEST_CASE("datum: a negative label survives, as protobuf's int32 does") {
  CHECK(parse_datum(as_bytes(value_of("a", -1))).label == -1);
}

TEST_CASE("datum: the order of fields is free, and the last of two counts") {
  const std::string value =
      "\x38\x01\x28\x01\x22\x03"
      "abc"
      "\x28\x00"s;
  const Datum datum = parse_datum(as_bytes(value));
  CHECK(as_text(datum.image) == "abc");
  CHECK(datum.label == 0);
  CHECK(datum.encoded);
}

TEST_CASE("datum: fields it does not use are passed over") {
  const std::string others =
      "\x08\x03"
      "\x10\x80\x02"
      "\x35\x01\x02\x03\x04"
      "\x41"
      "12345678"
      "\x7a\x02"
      "zz"
      "\x80\x7d\x05"s;
  const std::string value = others + value_of("abc", 5) + others;
  const Datum datum = parse_datum(as_bytes(value));
  CHECK(as_text(datum.image) == "abc");
  CHECK(datum.label == 5);
}

TEST_CASE("datum: what is not given is empty, no label and false") {
  const Datum datum = parse_datum({});
  CHECK(datum.image.empty());
  CHECK(!datum.label);
  CHECK_FALSE(datum.encoded);
}

TEST_CASE("datum: a value cut inside a field is corrupt") {
  const std::string value = value_of(std::string(200, 'x'), 300);  // fields end at 203, 206 and 208
  for (std::size_t size = 1; size < value.size(); ++size) {
    if (size == 203 || size == 206) continue;
    CAPTURE(size);
    CHECK(is_corrupt(value.substr(0, size)));
  }
}

TEST_CASE("datum: garbage is corrupt") {
  for (const std::string& value :
       {"\x23"s, "\x24"s, "\x26\x01"s, "\x27\x01"s,  // groups, no wire types
        "\x22\x7f"
        "abc"s,  // longer than the value
        "\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        "a"s,  // 2^64 - 1 bytes
        std::string(11, '\xff'), "\x28" + std::string(10, '\x80'),
        "\x41"
        "1234567"s,
        "\x35"
        "123"s}) {
    CAPTURE(value.size());
    CHECK(is_corrupt(value));
  }
}

TEST_CASE("datum: no flipped byte makes it step outside") {
  const std::string good = value_of("some image bytes", 300);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string value = good;
      value[at] = static_cast<char>(value[at] ^ (1 << bit));
      const std::vector<char> exact(value.begin(), value.end());
      try {
        const Datum datum = parse_datum(as_bytes({exact.data(), exact.size()}));
        CHECK(datum.image.size() <= exact.size());
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kCorrupt);
      }
    }
  }
}

}  // namespace packhorse::lmdb

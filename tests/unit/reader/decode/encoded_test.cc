#include <doctest/doctest.h>

#include "base/file.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

constexpr int kSize = 96;
constexpr std::size_t kBytes = std::size_t{kSize} * kSize * 3;

using Pixels = std::vector<std::uint8_t>;

/// Compares the file's sample from decode() with that from leave_encoded() and decode_left(), with
/// `room` bytes for the JPEG. Returns how many bytes it took.
std::uint32_t check_same(Bytes file, const Augment& augment, std::uint64_t number,
                         std::size_t room = 1 << 20) {
  Decoder decoder;
  const SampleRandom random(5, 0, number);
  Pixels expected(kBytes), left(kBytes), jpeg(room);
  decoder.decode(file, augment, random, expected);
  const EncodedSample sample = decoder.leave_encoded(file, augment, random, jpeg);
  if (sample.bytes == 0) return 0;
  const Bytes part(reinterpret_cast<const std::byte*>(jpeg.data()), sample.bytes);
  decoder.decode_left(part, sample, kSize, left);
  CHECK(left == expected);
  return sample.bytes;
}

}  // namespace

TEST_CASE("encoded: what was left has the pixels of decode(), for every kind of crop") {
  const File plain = make_jpeg(make_picture(300, 210));
  const Augment kinds[] = {RandomResizedCrop{.size = kSize}, ResizeCenterCrop{110, kSize},
                           Resize{kSize}, PadCrop{.size = kSize, .padding = 9}};
  for (const File& file : {plain, make_roi(plain), make_jpeg(make_picture(300, 210, 1))}) {
    for (const Augment& augment : kinds) {
      for (std::uint64_t number = 0; number < 6; ++number)
        CHECK(check_same(file, augment, number) > 0);
    }
  }
}

TEST_CASE("encoded: of a roi image only the segments of the crop are left") {
  const File plain = make_jpeg(make_picture(800, 600)), roi = make_roi(plain);
  const RandomResizedCrop small{.size = kSize, .min_scale = 0.05, .max_scale = 0.06};
  CHECK(check_same(plain, small, 1) == plain.size());
  CHECK(check_same(roi, small, 1) < roi.size() / 4);
}

TEST_CASE("encoded: what needs more than a JPEG decoder is not left") {
  const Augment augment = RandomResizedCrop{.size = kSize};
  const File jpeg = make_jpeg(make_picture(100, 80));
  CHECK(check_same(jpeg, augment, 1, jpeg.size()) == jpeg.size());
  CHECK(check_same(jpeg, augment, 1, jpeg.size() - 1) == 0);  // no room
  CHECK(check_same(make_jpeg(make_picture(100, 80), {.orientation = 6}), augment, 1) == 0);
  Pixels room(1 << 20);
  Decoder jitters({.pixels = parse_pixel_steps("ColorJitter(0.4)")});
  CHECK(jitters.leave_encoded(jpeg, augment, SampleRandom(1, 0, 0), room).bytes == 0);
}

TEST_CASE("encoded: real photos have the pixels of decode()") {
  const auto all = packhorse::test::photos();
  for (std::size_t i = 0; i < all.size(); i += 7) {
    CAPTURE(all[i]);
    const File original = read_file(all[i]);
    for (const File& file : {original, make_roi(original)})
      check_same(file, RandomResizedCrop{.size = kSize}, i);
  }
}

TEST_CASE(
    "encoded: a loader leaves its share of each batch, and both shares have the same pixels") {
  const auto dataset = make_dataset(23);
  LoaderOptions options{
      .batch_size = 6, .workers = 2, .slots = 3, .augment = Resize{kSize}, .seed = 3};
  Loader whole(dataset, options);
  options.encoded_share = 0.5;
  Loader half(dataset, options);
  whole.start_epoch(1);
  half.start_epoch(1);
  Decoder decoder;
  std::size_t left = 0;
  while (const std::optional<Batch> expected = whole.next()) {
    const std::optional<Batch> batch = half.next();
    REQUIRE(batch);
    CHECK(expected->encoded().empty());
    REQUIRE(batch->encoded().size() == 6);
    for (std::size_t place = 0; place < 6; ++place) {
      const std::span<std::uint8_t> given = batch->images().subspan(place * kBytes, kBytes);
      const EncodedSample& sample = batch->encoded()[place];
      CHECK((sample.bytes == 0 || place < 3));
      if (sample.bytes > 0) {
        const Pixels jpeg(given.begin(), given.begin() + sample.bytes);
        const Bytes bytes(reinterpret_cast<const std::byte*>(jpeg.data()), jpeg.size());
        decoder.decode_left(bytes, sample, kSize, given);
        ++left;
      }
      CHECK(std::ranges::equal(given, expected->images().subspan(place * kBytes, kBytes)));
    }
  }
  CHECK(left > 0);
}

}  // namespace packhorse::reader::test

#include "codecs/colour_rows.h"
#include "codecs/image_header.h"
#include "support/support.h"

#ifdef PACKHORSE_TEST_HEIC
#include <libheif/heif.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace packhorse {

namespace {

using Text = std::string;

Text number(std::uint64_t value, int bytes) {
  Text text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

std::uint32_t number_at(const Text& text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

/// A coded picture: its parameters, as a box of a file has them, and its slices.
struct Coded {
  Text parameters, data;
  int width, height;
};

/// What libheif's encoder makes of smooth colours with some noise; nothing where it has none.
std::optional<Coded> coded(int width, int height, const char* slices = "1", bool grey = false) {
  const std::unique_ptr<heif_context, decltype(&heif_context_free)> context(heif_context_alloc(),
                                                                            heif_context_free);
  heif_encoder* encoder = nullptr;
  if (heif_context_get_encoder_for_format(context.get(), heif_compression_HEVC, &encoder).code != 0)
    return std::nullopt;
  heif_encoder_set_lossy_quality(encoder, 60);
  heif_encoder_set_parameter_string(encoder, "x265:slices", slices);
  heif_image* image = nullptr;
  heif_image_create(width, height, heif_colorspace_RGB, heif_chroma_interleaved_RGB, &image);
  heif_image_add_plane(image, heif_channel_interleaved, width, height, 8);
  int stride = 0;
  std::uint8_t* row = heif_image_get_plane(image, heif_channel_interleaved, &stride);
  unsigned noise = static_cast<unsigned>(width);
  for (int y = 0; y < height; ++y, row += stride) {
    for (int x = 0; x < 3 * width; ++x) {
      if (!grey || x % 3 == 0) noise = noise * 1664525 + 1013904223;
      row[x] = static_cast<std::uint8_t>(40 + x / 3 / 2 + y / 2 + static_cast<int>(noise >> 27));
    }
  }
  heif_context_encode_image(context.get(), image, encoder, nullptr, nullptr);
  heif_image_release(image);
  heif_encoder_release(encoder);
  Text file;
  heif_writer writer{1, [](heif_context*, const void* data, std::size_t size, void* to) {
                       static_cast<Text*>(to)->append(static_cast<const char*>(data), size);
                       return heif_error{heif_error_Ok, heif_suberror_Unspecified, ""};
                     }};
  heif_context_write(context.get(), &writer, &file);
  const std::size_t hvcc = file.find("hvcC") - 4, mdat = file.find("mdat") - 4;
  return Coded{file.substr(hvcc, number_at(file, hvcc)),
               file.substr(mdat + 8, number_at(file, mdat) - 8), width, height};
}

// ISO/IEC 14496-12 and 23008-12.

Text box(const char* type, const Text& content) {
  return number(content.size() + 8, 4) + type + content;
}

Text full_box(const char* type, int version, const Text& content, int flags = 0) {
  return box(type, number(static_cast<unsigned>(version), 1) +
                       number(static_cast<unsigned>(flags), 3) + content);
}

Text size_box(int width, int height) {
  return full_box(
      "ispe", 0,
      number(static_cast<unsigned>(width), 4) + number(static_cast<unsigned>(height), 4));
}

struct Item {
  const char* type;
  Text data;
  Text properties;                                        ///< numbers of boxes, from 1
  std::vector<std::pair<const char*, Text>> refers = {};  ///< "dimg" or "auxl", to items
};

/// A file of these items, numbered from 1, of which the first is the picture.
Text heic(const std::vector<Item>& items, const Text& properties) {
  const auto made = [&](std::size_t begin) {
    Text names, places, references, owners, data;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const Text id = number(i + 1, 2);
      names += full_box("infe", 2, id + number(0, 2) + item.type + Text(1, '\0'),
                        i > 0 ? 1 : 0);  // all but the picture are hidden
      places += id + number(0, 2) + number(1, 2) + number(begin + data.size(), 4) +
                number(item.data.size(), 4);
      data += item.data;
      owners += id + number(item.properties.size(), 1) + item.properties;
      for (const auto& [how, others] : item.refers) {
        Text to;
        for (const char one : others) to += number(static_cast<unsigned char>(one), 2);
        references += box(how, id + number(others.size(), 2) + to);
      }
    }
    const Text count = number(items.size(), 2);
    return std::pair(
        box("ftyp", "heic" + number(0, 4) + "mif1heic") +
            full_box("meta", 0,
                     full_box("hdlr", 0, number(0, 4) + "pict" + Text(13, '\0')) +
                         full_box("pitm", 0, number(1, 2)) +
                         full_box("iloc", 0, number(0x4400, 2) + count + places) +
                         full_box("iinf", 0, count + names) +
                         (references.empty() ? "" : full_box("iref", 0, references)) +
                         box("iprp", box("ipco", properties) +
                                         full_box("ipma", 0, number(0, 2) + count + owners))),
        box("mdat", data));
  };
  const std::size_t begin = made(0).first.size() + 8;
  return made(begin).first + made(begin).second;
}

/// One coded picture.
Text single(const Coded& picture) {
  return heic({{"hvc1", picture.data, "\x81\x02"}},
              picture.parameters + size_box(picture.width, picture.height));
}

/// What may be wrong with a grid.
struct Grid {
  int columns = 3, rows = 2, width = 180, height = 120;
  int tile_width = 64, tile_height = 64;  ///< as the file says
};

const Text kAlpha = full_box("auxC", 0, Text("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha") + '\0');

/// A grid of six times the same tile, and of six times its alpha, with `turns` to the left.
Text grid(const Coded& tile, const Grid& is, const Coded* alpha = nullptr, unsigned turns = 0) {
  const Text layout = number(0, 2) + number(static_cast<unsigned>(is.rows - 1), 1) +
                      number(static_cast<unsigned>(is.columns - 1), 1) +
                      number(static_cast<unsigned>(is.width), 2) +
                      number(static_cast<unsigned>(is.height), 2);
  std::vector<Item> items = {{"grid", layout, "\x03\x84", {{"dimg", "\2\3\4\5\6\7"}}}};
  for (int i = 0; i < 6; ++i) items.push_back({"hvc1", tile.data, "\x81\x02"});
  if (alpha != nullptr) {
    items.push_back(
        {"grid", layout, "\x03\x84\x85", {{"auxl", "\1"}, {"dimg", "\x09\x0a\x0b\x0c\x0d\x0e"}}});
    for (int i = 0; i < 6; ++i) items.push_back({"hvc1", alpha->data, "\x86\x02"});
  }
  return heic(items, tile.parameters + size_box(is.tile_width, is.tile_height) +
                         size_box(is.width, is.height) + box("irot", number(turns, 1)) + kAlpha +
                         (alpha != nullptr ? alpha->parameters : ""));
}

/// A picture and its alpha.
Text with_alpha(const Coded& picture, const Coded& alpha) {
  return heic(
      {{"hvc1", picture.data, "\x81\x03"}, {"hvc1", alpha.data, "\x82\x03\x84", {{"auxl", "\1"}}}},
      picture.parameters + alpha.parameters + size_box(picture.width, picture.height) + kAlpha);
}

struct Shown {
  int width = 0, height = 0;
  std::vector<std::uint8_t> samples;
  Text why;  ///< it is refused; else empty
  bool operator==(const Shown&) const = default;
};

/// The pixels, decoded into memory that holds `before`.
Shown shown(const Text& file, int before = 0) {
  const Bytes bytes = as_bytes(file);
  const ProbeResult probe = probe_image(bytes);
  Shown picture;
  picture.why = probe.reason;
  if (!probe.info) return picture;
  ::mallopt(M_PERTURB, before);
  try {
    const auto rows = open_colours(bytes, *probe.info);
    picture.width = rows->width;
    picture.height = rows->height;
    for (int y = 0; y < rows->height; ++y) {
      const std::uint8_t* row = rows->next_row();
      picture.samples.insert(picture.samples.end(), row, row + rows->channels * rows->width);
    }
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kCorrupt);
    picture.why = error.what();
  }
  ::mallopt(M_PERTURB, 0);
  return picture;
}

bool is_refused(const Text& file) { return !shown(file).why.empty(); }

/// The same file twice, in memory with other contents: what differs was never decoded.
bool is_decoded_whole(const Text& file) { return shown(file, 0x35) == shown(file, 0xca); }

/// Where the units of coded data begin: each is its length in four bytes, and itself.
std::vector<std::size_t> units_of(const Text& data) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < data.size(); at += 4 + number_at(data, at)) found.push_back(at);
  return found;
}

/// Whether there is an encoder to make the files with.
bool can_encode() {
  if (coded(64, 64)) return true;
  test::skipped("libheif has no encoder of HEVC here");
  return false;
}

}  // namespace

TEST_CASE("heic: damage in the coded data is refused, or changes what is decoded as a whole") {
  if (!can_encode()) return;
  const Coded picture = *coded(256, 128);
  const Text whole = single(picture);
  REQUIRE(shown(whole).why == "");
  const std::size_t begin = whole.size() - picture.data.size();
  int refused = 0, damaged = 0;
  for (std::size_t at = begin + 60; at < whole.size(); at += 97, ++damaged) {
    CAPTURE(at);
    Text file = whole;
    file[at] = static_cast<char>(file[at] ^ 0x55);
    CHECK(is_decoded_whole(file));
    refused += is_refused(file) ? 1 : 0;
  }
  REQUIRE(damaged > 20);
  CHECK(refused > damaged / 2);
}

TEST_CASE("heic: a file that ends too early is refused") {
  if (!can_encode()) return;
  const Coded picture = *coded(256, 128);
  const Text whole = single(picture);
  for (std::size_t size = 1; size < whole.size(); size += size < 600 ? 7 : 211) {
    CAPTURE(size);
    CHECK(is_refused(whole.substr(0, size)));
  }
}

TEST_CASE("heic: a picture without one of its slices, or a part of one, is refused") {
  if (!can_encode()) return;
  Coded picture = *coded(256, 256, "4");
  const Text data = picture.data;
  std::vector<std::size_t> slices;
  for (const std::size_t at : units_of(data))
    if ((data[at + 4] >> 1 & 63) < 32) slices.push_back(at);
  REQUIRE(slices.size() == 4);
  REQUIRE(shown(single(picture)).why == "");
  for (const std::size_t at : slices) {
    CAPTURE(at);
    const std::uint32_t length = number_at(data, at);
    picture.data = data.substr(0, at) + data.substr(at + 4 + length);
    CHECK(is_refused(single(picture)));
    for (const std::uint32_t kept : {2u, 3u, 8u, length / 4, length / 2, length * 3 / 4}) {
      CAPTURE(kept);
      picture.data = data.substr(0, at) + number(kept, 4) + data.substr(at + 4, kept) +
                     data.substr(at + 4 + length);
      CHECK(is_refused(single(picture)));
    }
  }
}

TEST_CASE("heic: a grid shows its tiles side by side") {
  if (!can_encode()) return;
  const Coded tile = *coded(64, 64);
  const Shown one = shown(single(tile)), all = shown(grid(tile, {}));
  REQUIRE(one.why == "");
  REQUIRE(all.why == "");
  REQUIRE(all.width == 180);
  REQUIRE(all.height == 120);
  for (std::size_t y = 0; y < 120; ++y)
    for (std::size_t x = 0; x < 3 * 180; ++x)
      REQUIRE(all.samples[y * 3 * 180 + x] == one.samples[y % 64 * 3 * 64 + x % (3 * 64)]);
}

TEST_CASE("heic: a grid with alpha is turned") {
  if (!can_encode()) return;
  const Coded tile = *coded(64, 64), alpha = *coded(64, 64, "1", true);
  const Shown one = shown(single(tile)), flat = shown(with_alpha(tile, alpha));
  REQUIRE(flat.why == "");
  REQUIRE(flat.samples != one.samples);
  const Shown all = shown(grid(tile, {}, &alpha, 1));
  REQUIRE(all.why == "");
  REQUIRE(all.width == 120);
  REQUIRE(all.height == 180);
  // The column that was a row is read from the right. libheif takes the alpha of a grid from its
  // red, which is rounded.
  for (std::size_t y = 0; y < 180; ++y)
    for (std::size_t x = 0; x < 120; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        REQUIRE(std::abs(all.samples[(y * 120 + x) * 3 + c] -
                         flat.samples[(x % 64 * 64 + (179 - y) % 64) * 3 + c]) <= 1);
}

TEST_CASE("heic: a grid whose tiles do not make up its picture is refused") {
  if (!can_encode()) return;
  const Coded tile = *coded(64, 64);
  for (const Grid& wrong :
       {Grid{.tile_width = 65}, Grid{.tile_width = 63}, Grid{.tile_height = 32},
        Grid{.tile_height = 68}, Grid{.columns = 2, .rows = 3, .height = 180}, Grid{.width = 193},
        Grid{.height = 129}, Grid{.columns = 6, .rows = 1, .width = 380}}) {
    CAPTURE(wrong.columns);
    CAPTURE(wrong.tile_width);
    CAPTURE(wrong.tile_height);
    CHECK(shown(grid(tile, wrong)).why == "damaged heic: its tiles do not make up the picture");
  }
  CHECK(is_refused(grid(tile, {.tile_width = 65}, &tile, 1)));
  Coded cut = tile;
  cut.data = cut.data.substr(0, cut.data.size() / 2);
  CHECK(is_refused(grid(cut, {})));
}

TEST_CASE("heic: threads decode at once") {
  if (!can_encode()) return;
  const Coded tile = *coded(64, 64);
  const std::array files = {single(*coded(128, 64)), grid(tile, {}),
                            grid(tile, {.tile_width = 65})};
  const std::array alone = {shown(files[0]), shown(files[1]), shown(files[2])};
  std::atomic<int> different = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 4; ++first)
      threads.emplace_back([&, first] {
        for (std::size_t i = first; i < first + 30; ++i)
          different += shown(files[i % 3]) == alone[i % 3] ? 0 : 1;
      });
  }
  CHECK(different == 0);
}

TEST_CASE("heic: pictures that are made of each other are refused") {
  if (!can_encode()) return;
  const Coded tile = *coded(64, 64);
  const Text boxes = tile.parameters + size_box(64, 64) + kAlpha;
  const auto why = [&](const std::vector<Item>& items) { return shown(heic(items, boxes)).why; };
  const Item coded_item = {"hvc1", tile.data, "\x81\x02"};
  const Text one_tile = number(0, 4) + number(64, 2) + number(64, 2);
  const auto grid_of = [&](const Text& items) {
    return Item{"grid", one_tile, "\x02", {{"dimg", items}}};
  };
  const auto same_as = [](const Text& item) { return Item{"iden", "", "\x02", {{"dimg", item}}}; };
  CHECK(why({grid_of("\2"), coded_item}) == "");
  CHECK(why({same_as("\2"), grid_of("\3"), coded_item}) == "");
  const Text nested =
      "damaged header: its pictures are made of each other, or over too many levels";
  CHECK(why({grid_of("\1")}) == nested);
  CHECK(why({same_as("\2"), same_as("\1")}) == nested);
  CHECK(why({{"hvc1", tile.data, "\x81\x02\x83", {{"auxl", "\2"}}},
             {"hvc1", tile.data, "\x81\x02\x83", {{"auxl", "\1"}}}}) == nested);
  std::vector<Item> chain;
  for (char next = 2; next < 100; ++next) chain.push_back(same_as(Text(1, next)));
  chain.push_back(coded_item);
  CHECK(why(chain) == nested);
}

TEST_CASE("heic: an alpha of another size than its picture is refused") {
  if (!can_encode()) return;
  const Coded picture = *coded(128, 64);
  CHECK(shown(with_alpha(picture, picture)).why == "");
  CHECK(shown(with_alpha(picture, *coded(64, 64))).why ==
        "damaged heic: its colours and its alpha have unlike sizes");
  CHECK(shown(with_alpha(picture, *coded(256, 128))).why ==
        "damaged heic: its colours and its alpha have unlike sizes");
}

}  // namespace packhorse

#else

TEST_CASE("heic: damaged files") {
  packhorse::test::skipped("packhorse was built without libheif and libde265");
}

#endif

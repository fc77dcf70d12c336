#include "packhorse/packing/dataset_writer.h"

#include "codecs/colour_rows.h"
#include "codecs/encode.h"
#include "codecs/image_header.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "listing/names.h"
#include "pack_place.h"
#include "packhorse/verify/verify.h"
#include "sources/source.h"
#include "support/pictures.h"

namespace packhorse {

namespace {

/// Where a dataset is written.
struct Target {
  TemporaryDirectory directory;
  fs::path out = directory / "out", partial = directory / "out.partial";
  PackOptions options;

  Target() {
    options.format = "wds";
    options.plan.shard_samples = 4;
    options.jobs = 2;
  }
  bool is_empty() const { return fs::is_empty(directory.path()); }
};

struct Made {
  std::string image, key;
  NewSample sample(std::variant<std::int64_t, std::string_view> label) const {
    return {.image = as_bytes(image), .label = label, .key = key};
  }
};

/// Adds `count` tiny images of the classes c0, c1 and c2.
void fill(DatasetWriter& writer, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string label = "c" + std::to_string(i % 3);
    writer.add(Made{tiny_image(i), {}}.sample(label));
  }
}

ErrorKind kind_of_adding(DatasetWriter& writer, const NewSample& sample) {
  return kind_of_error([&] { writer.add(sample); });
}

}  // namespace

TEST_CASE("dataset writer: writes what pack() makes of the same files, in every format") {
  for (const Format* format : all_formats()) {
    for (const bool shuffle : {true, false}) {
      CAPTURE(format->name);
      PackPlace place;
      place.options.format = format->name;
      place.options.plan.shuffle = shuffle;
      REQUIRE(place.pack().published);
      place.options.list.allow_odd_classes = false;  // a writer has no folders
      const fs::path written = place.directory / "written";
      DatasetWriter writer(written, place.options);
      const auto listed = open_source(place.source)->list({});
      const SplitListing& all = listed.splits.front();
      for (std::size_t i = 0; i < all.entries.size(); ++i) {
        const std::string path = all.entries.path_of(i), image = read_text(place.source / path);
        writer.add(
            {.image = as_bytes(image), .label = std::string_view(path).substr(0, 2), .path = path});
      }
      const PackReport report = writer.finish();
      CHECK(report.published);
      CHECK(report.accounting.packed == 30);
      CHECK(tree(written) == tree(place.out));
    }
  }
}

TEST_CASE("dataset writer: any number of threads writes the same bytes, and they verify") {
  std::vector<std::string> trees;
  for (const int jobs : {1, 3}) {
    Target target;
    target.options.jobs = jobs;
    DatasetWriter writer(target.out, target.options);
    fill(writer, 50);
    CHECK(writer.size() == 50);
    CHECK(writer.finish().accounting.packed == 50);
    CHECK(verify(target.out, {VerifyLevel::kFull, 2}).ok());
    trees.push_back(tree(target.out));
  }
  CHECK(trees[0] == trees[1]);
}

TEST_CASE("dataset writer: pixels become PNGs of them") {
  Target target;
  const test::Picture colour = test::make_picture(33, 21), grey = test::make_picture(17, 9, 1);
  DatasetWriter writer(target.out, target.options);
  for (const test::Picture& picture : {colour, grey}) {
    writer.add({.image = std::as_bytes(std::span(picture.pixels)),
                .pixels = NewSample::PixelShape{static_cast<std::uint32_t>(picture.width),
                                                static_cast<std::uint32_t>(picture.height),
                                                static_cast<std::uint8_t>(picture.channels)},
                .label = std::string_view("a")});
  }
  target.options.plan.shuffle = false;
  REQUIRE(writer.finish().published);
  const PackedDataset dataset(target.out);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::byte> file;
    dataset.read(i, file);
    const ImageInfo info = header_to_decode(file, {});
    const test::Picture& picture = info.components == 1 ? grey : colour;
    const auto image = open_colours(file, info);
    CHECK(info.kind == ImageKind::kPng);
    REQUIRE(image->width == picture.width);
    for (int y = 0; y < picture.height; ++y)
      CHECK(std::equal(picture.at(0, y), picture.at(0, y) + picture.width * picture.channels,
                       image->next_row()));
  }
}

TEST_CASE("dataset writer: keys are kept, in their byte order, with fields and paths") {
  for (const Format* format : all_formats()) {
    if (!format->carries_fields) continue;
    CAPTURE(format->name);
    Target target;
    target.options.format = format->name;
    DatasetWriter writer(target.out, target.options);
    const std::string text = "text", other = "other";
    for (const char* const key : {"m", "c", "x", "a", "k"}) {
      std::vector<Field> fields = {{"txt", as_bytes(text)}};
      if (key[0] == 'c') fields.push_back({"json", as_bytes(other)});
      const std::string image = tiny_image(key[0]);
      writer.add({.image = as_bytes(image),
                  .label = std::int64_t{key[0] % 2},
                  .fields = fields,
                  .key = key});
    }
    REQUIRE(writer.finish().published);
    const PackedDataset dataset(target.out);
    CHECK(verify(target.out, {VerifyLevel::kFull, 1}).ok());
    CHECK(dataset.fields() == std::vector<std::string>{"json", "txt"});
    std::string keys;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      const PackedDataset::Place at = dataset.place(i);
      const std::string key(dataset.index(at.shard)->key(at.row));
      keys += key;
      CHECK(dataset.index(at.shard)->label(at.row) == key[0] % 2);
      CHECK(dataset.index(at.shard)->path(at.row) ==
            std::to_string(key[0] % 2) + "/" + key + ".ppm");
      dataset.read(i, bytes);
      CHECK(as_text(bytes) == tiny_image(key[0]));
      REQUIRE(dataset.read_field(i, 1, bytes));
      CHECK(as_text(bytes) == text);
      CHECK(dataset.read_field(i, 0, bytes) == (key == "c"));
    }
    CHECK(keys == "ackmx");
  }
}

TEST_CASE("dataset writer: splits share the classes") {
  Target target;
  DatasetWriter writer(target.out, target.options);
  const std::string image = tiny_image(1);
  writer.add({.image = as_bytes(image), .label = std::string_view("b"), .split = "train"});
  writer.add({.image = as_bytes(image), .label = std::string_view("a"), .split = "val"});
  CHECK(kind_of_adding(writer, {.image = as_bytes(image), .label = std::string_view("a")}) ==
        ErrorKind::kUsage);
  REQUIRE(writer.finish().splits.size() == 2);
  CHECK(PackedDataset(target.out / "train").index(0)->label(0) == 1);
  CHECK(PackedDataset(target.out / "val").index(0)->label(0) == 0);
}

TEST_CASE("dataset writer: what cannot be is refused and changes nothing") {
  Target target;
  target.options.list.classes = {"a", "b"};
  DatasetWriter writer(target.out, target.options);
  const std::string image = tiny_image(1);
  const auto sample = [&](const NewSample& other) {
    NewSample made = other;
    if (made.image.empty()) made.image = as_bytes(image);
    return made;
  };
  writer.add(sample({.label = std::string_view("a"), .key = "k"}));
  const Field doubled[] = {{"txt", {}}, {"txt", {}}}, odd[] = {{"Txt", {}}}, cls[] = {{"cls", {}}};
  const NewSample::PixelShape shape{2, 2, 3}, alpha{1, 1, 4}, none{0, 1, 1};
  const std::string four = "1234";
  for (const NewSample& wrong : {
           NewSample{.label = std::string_view("c"), .key = "l"},
           NewSample{.label = std::int64_t{2}, .key = "l"},
           NewSample{.label = std::int64_t{-1}, .key = "l"},
           NewSample{.label = std::int64_t{0}, .key = "k"},
           NewSample{.label = std::int64_t{0}, .key = "k-2"},
           NewSample{.label = std::int64_t{0}, .key = "k.2"},
           NewSample{.label = std::int64_t{0}},
           NewSample{.label = std::int64_t{0}, .fields = doubled, .key = "l"},
           NewSample{.label = std::int64_t{0}, .fields = odd, .key = "l"},
           NewSample{.label = std::int64_t{0}, .fields = cls, .key = "l"},
           NewSample{.label = std::int64_t{0}, .key = "l", .path = "../a.jpg"},
           NewSample{.label = std::int64_t{0}, .key = "l", .split = "a/b"},
           NewSample{.label = std::int64_t{0}, .key = "l", .split = "train"},
           NewSample{
               .image = as_bytes(four), .pixels = shape, .label = std::int64_t{0}, .key = "l"},
           NewSample{
               .image = as_bytes(four), .pixels = alpha, .label = std::int64_t{0}, .key = "l"},
           NewSample{.image = as_bytes(four), .pixels = none, .label = std::int64_t{0}, .key = "l"},
       }) {
    CAPTURE(wrong.key);
    CAPTURE(wrong.path);
    CHECK(kind_of_adding(writer, sample(wrong)) == ErrorKind::kUsage);
  }
  CHECK(kind_of_adding(writer, {.image = as_bytes(four), .label = std::int64_t{0}, .key = "l"}) ==
        ErrorKind::kRejected);
  CHECK(writer.size() == 1);
  const PackReport report = writer.finish();
  CHECK(report.accounting.seen == 1);
  CHECK(PackedDataset(target.out).fields().empty());
  CHECK(kind_of_adding(writer, sample({.label = std::int64_t{0}})) == ErrorKind::kUsage);
}

TEST_CASE("dataset writer: numbers and names of classes do not mix without a class list") {
  Target target;
  DatasetWriter writer(target.out, target.options);
  const std::string image = tiny_image(1);
  writer.add({.image = as_bytes(image), .label = std::int64_t{2}});
  CHECK(kind_of_adding(writer, {.image = as_bytes(image), .label = std::string_view("2")}) ==
        ErrorKind::kUsage);
  writer.finish();
  CHECK(PackedDataset(target.out).classes() == std::vector<std::string>{"0", "1", "2"});
}

TEST_CASE("dataset writer: objects are packed as pack() packs them, and follow their image") {
  for (const Format* format : all_formats()) {
    if (!format->carries_fields) continue;
    CAPTURE(format->name);
    Target target;
    target.options.format = format->name;
    target.options.image = "resize";
    target.options.transform.short_side = 20;
    target.options.plan.shuffle = false;
    const test::Picture picture = test::make_picture(80, 40);
    const NewSample sample{.image = std::as_bytes(std::span(picture.pixels)),
                           .pixels = NewSample::PixelShape{80, 40, 3},
                           .label = std::string_view("a")};
    Objects objects;
    objects.boxes = {{8, 4, 40, 20}};
    objects.labels = {1};
    objects.flags = {kCrowd};
    objects.keypoints = {{8, 4, 2}};
    objects.outlines = {{8, 4}, {40, 4}, {40, 20}};
    objects.polygons = {0, 1};
    objects.points = {0, 3};
    DatasetWriter writer(target.out, target.options, {{"red", "blue"}, {"tip"}});
    const Objects none;
    for (const Objects* given : std::initializer_list<const Objects*>{&objects, &none}) {
      NewSample one = sample;
      one.objects = given;
      writer.add(one);
    }
    REQUIRE(writer.finish().published);
    const PackedDataset dataset(target.out);
    REQUIRE(dataset.manifest().targets ==
            std::vector<TargetRecord>{{"objects", "objects", "", {"red", "blue"}, {"tip"}}});
    std::vector<std::byte> field;
    REQUIRE(dataset.read_field(0, 0, field));
    const Objects read = decode_objects(field);
    CHECK(read.boxes == std::vector<Box>{{4, 2, 20, 10}});
    CHECK(read.labels == objects.labels);
    CHECK(read.flags == objects.flags);
    CHECK(read.areas.empty());
    CHECK(read.outlines == std::vector<Point>{{4, 2}, {20, 2}, {20, 10}});
    CHECK(read.keypoints == std::vector<Keypoint>{{4, 2, 2}});
    REQUIRE(dataset.read_field(1, 0, field));
    CHECK(decode_objects(field).size() == 0);
  }
}

TEST_CASE("dataset writer: objects that cannot be right are refused, by their numbers") {
  Target target;
  const std::string image = tiny_image(0);
  DatasetWriter writer(target.out, target.options, {{"red", "blue"}, {"tip"}});
  const ImageInfo info = *probe_image(as_bytes(image), {}).info;
  const auto width = static_cast<float>(info.width), height = static_cast<float>(info.height);
  Objects right;
  right.boxes = {{0, 0, width, height}, {0, 0, 1, 1}};
  right.labels = {0, 1};
  right.flags = {0, 0};
  const auto add = [&](const Objects* objects, MaskSize masks = {}) {
    writer.add({.image = as_bytes(image), .label = 0, .objects = objects, .masks = masks});
  };
  const auto refused = [&](const Objects& objects, const char* why, MaskSize masks = {}) {
    CHECK_THROWS_WITH_AS(add(&objects, masks), doctest::Contains(why), Error);
  };
  CHECK_THROWS_WITH_AS(add(nullptr), doctest::Contains("does not say which objects"), Error);
  Objects wrong = right;
  wrong.boxes[1].right = 0;
  refused(wrong, "object 1: its box has no area");
  wrong = right;
  wrong.boxes[1].bottom = height + 2;
  refused(wrong, "object 1: its box, ");
  wrong = right;
  wrong.labels[0] = 2;
  refused(wrong, "object 0: its class 2 is none of the 2");
  wrong = right;
  wrong.labels.pop_back();
  refused(wrong, "do not fit each other");
  wrong = right;
  wrong.points = {0, 3};
  wrong.polygons = {0, 1, 1};
  refused(wrong, "do not fit each other");
  wrong.outlines = {{0, 0}, {1, 0}};
  wrong.points = {0, 2};
  refused(wrong, "object 0: a polygon of 2 points");
  wrong = right;
  wrong.runs = {0, 1, 1};
  wrong.counts = {5};
  refused(wrong, "object 0: ", {info.height, info.width});  // not as many pixels
  wrong.counts = {2 * info.width * info.height};
  refused(wrong, "object 0: its mask is ", {2 * info.height, info.width});
  wrong = right;
  wrong.keypoints.resize(2, {1, 1, 3});
  refused(wrong, "object 0: a key point's visibility");
  CHECK(writer.size() == 0);
  add(&right);
  CHECK(writer.size() == 1);
}

TEST_CASE("dataset writer: objects without a place for them are refused before anything is made") {
  Target target;
  const auto refused = [&](const ObjectNames& names) {
    return kind_of_error([&] { DatasetWriter(target.out, target.options, names); });
  };
  CHECK(refused({{}, {"tip"}}) == ErrorKind::kUsage);
  CHECK(refused({{"red", "red"}, {}}) == ErrorKind::kUsage);
  CHECK(refused({{"a\nb"}, {}}) == ErrorKind::kUsage);
  target.options.image = "raw";
  target.options.transform.size = 8;
  CHECK(refused({{"red"}, {}}) == ErrorKind::kUsage);  // it cuts
  target.options.image = "original";
  target.options.format = "lmdb";
  CHECK(refused({{"red"}, {}}) == ErrorKind::kUsage);
  CHECK(target.is_empty());
  target.options.format = "wds";
  DatasetWriter writer(target.out, target.options);
  const std::string image = tiny_image(0);
  const Objects none;
  CHECK(kind_of_adding(writer, {.image = as_bytes(image), .label = 0, .objects = &none}) ==
        ErrorKind::kUsage);
}

TEST_CASE("dataset writer: one that is not finished leaves nothing") {
  Target target;
  {
    DatasetWriter writer(target.out, target.options);
    fill(writer, 10);
    CHECK_FALSE(fs::exists(target.out));
    CHECK(kind_of_error([&] { DatasetWriter second(target.out, target.options); }) ==
          ErrorKind::kExists);
  }
  CHECK(target.is_empty());
  DatasetWriter writer(target.out, target.options);
  fill(writer, 10);
  std::stop_source stop;
  stop.request_stop();
  CHECK(kind_of_error([&] { writer.finish(nullptr, stop.get_token()); }) ==
        ErrorKind::kInterrupted);
  CHECK(target.is_empty());
  DatasetWriter empty(target.out, target.options);
  CHECK(kind_of_error([&] { empty.finish(); }) == ErrorKind::kUsage);
  CHECK(target.is_empty());
}

TEST_CASE("dataset writer: images that do not decode are rejects, and too many publish nothing") {
  Target target;
  target.options.decode = true;
  const test::Picture picture = test::make_picture(64, 64);
  test::File jpeg = test::make_jpeg(picture);
  const test::File sound = jpeg;
  std::fill(jpeg.end() - 200, jpeg.end() - 2, std::byte{0});
  for (const std::uint64_t allowed : {0u, 1u}) {
    target.options.max_rejects.count = allowed;
    DatasetWriter writer(target.out, target.options);
    writer.add({.image = jpeg, .label = std::string_view("a")});
    writer.add({.image = sound, .label = std::string_view("a")});
    const PackReport report = writer.finish();
    CHECK(report.published == (allowed == 1));
    REQUIRE(report.rejects.size() == 1);
    CHECK(report.rejects[0].path == "a/000000000.jpg");
    CHECK(fs::exists(target.out) == (allowed == 1));
    CHECK_FALSE(fs::exists(target.partial));
  }
}

TEST_CASE("dataset writer: options about a source are refused, and nothing is left") {
  const auto kind = [](const std::function<void(PackOptions&)>& change) {
    Target target;
    change(target.options);
    const ErrorKind found =
        kind_of_error([&] { DatasetWriter writer(target.out, target.options); });
    CHECK(target.is_empty());
    return found;
  };
  CHECK(kind([](PackOptions& o) { o.dry_run = true; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.finish = true; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.source_kind = "folder"; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.list.labels.pattern = "(.)"; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.list.classes = {"a", "a"}; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.list.classes = {"a\n"}; }) == ErrorKind::kUsage);
  CHECK(kind([](PackOptions& o) { o.format = "zip"; }) == ErrorKind::kUsage);
}

}  // namespace packhorse

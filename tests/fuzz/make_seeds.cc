// Writes the seeds of the fuzz targets: FOLDER/<target>/<name>, small files of every kind that a
// target takes. Packing in every format and image mode makes the parts of shards.
//
//     fuzz_seeds FOLDER
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"
#include "codecs/encode.h"
#include "dataset/shard_index.h"
#include "formats/lmdb/layout.h"
#include "image/npy.h"
#include "packhorse/packing/pack.h"
#include "packhorse/targets/class_set.h"
#include "packhorse/targets/objects.h"
#include "packing/receipt.h"
#include "seeds.h"
#include "storage/cache/account.h"
#include "storage/cache/runs_header.h"
#include "support/archives.h"
#include "support/image_files.h"
#include "transforms/transform.h"
#include "verdict.h"
#include "walkers/walk_protocol.h"

namespace {

namespace fs = std::filesystem;
using namespace packhorse;
using fuzz::ArchiveMember;
using packhorse::test::ImageSamples;
using packhorse::test::make_image_file;
using Type = ArchiveMember::Type;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) { fs::remove_all(folder_); }

  void put(const char* target, const std::string& name, std::string_view bytes) const {
    fs::create_directories(folder_ / target);
    write_plain_file(folder_ / target / name, as_bytes(bytes));
  }
  void put(std::initializer_list<const char*> targets, const std::string& name,
           std::string_view bytes) const {
    for (const char* target : targets) put(target, name, bytes);
  }

 private:
  fs::path folder_;
};

std::string as_string(Bytes bytes) { return std::string(as_text(bytes)); }

/// JPEGs. A fuzzer runs small files quickly, and is likelier to change them in the right place.
struct Pictures {
  std::vector<fuzz::File> any;  ///< all kinds; some truncated, some with most of the scan left out
  std::vector<fuzz::File> whole;  ///< for shards and archives
  fuzz::File of_overflow_pages;   ///< whole, and too long for a leaf page of LMDB
};

Pictures make_pictures() {
  constexpr std::size_t kSmall = 4096, kInLeaf = 2048, kWhole = 2;
  std::mt19937_64 random(1);
  std::vector<fuzz::File> files = fuzz::made_seeds(24, random);
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.size() < b.size(); });
  Pictures pictures;
  fuzz::Verdict verdict;
  for (const fuzz::File& file : files) {
    pictures.any.push_back(file);
    pictures.any.back().resize(std::min(file.size(), kSmall));
    fuzz::ask_libjpeg(file, 1 << 16, verdict);
    if (!verdict.clean) continue;
    if (pictures.whole.size() < kWhole) pictures.whole.push_back(file);
    if (file.size() > kInLeaf && pictures.of_overflow_pages.empty())
      pictures.of_overflow_pages = file;
  }
  return pictures;
}

/// One image of each kind other than JPEG, named by its extension.
std::vector<std::pair<std::string, std::string>> other_images() {
  std::vector<std::pair<std::string, std::string>> images;
  const auto add = [&](const std::string& name, int channels, int bits) {
    ImageSamples samples{5, 3, channels, bits, {}};
    for (int i = 0; i < 5 * 3 * channels; ++i)
      samples.values.push_back(static_cast<std::uint16_t>(40 + i * (bits == 8 ? 3 : 777)));
    images.emplace_back(name, as_text(make_image_file(name.substr(name.find('.')), samples)));
  };
  add("colour.png", 3, 8);
  add("deep.png", 1, 16);
  add("alpha.png", 4, 8);
  add("colour.webp", 3, 8);
  add("alpha.webp", 4, 8);
  add("colour.bmp", 3, 8);
  add("colour.tiff", 3, 8);
  add("deep.tiff", 1, 16);
  add("alpha.tiff", 2, 16);
  images.emplace_back("plain.ppm", "P3 2 1 9\n1 2 3 4 5 6\n");
  images.emplace_back("bits.pbm", "P4 9 2\nabcd");
  images.emplace_back("grey.pgm", "P5 5 3 255\n" + std::string(15, 'g'));
  images.emplace_back("colour.ppm", "P6\n# a comment\n2 2 100\n" + std::string(12, 'c'));
  images.emplace_back("deep.pgm", "P5 2 2 65535 " + std::string(8, 'd'));
  return images;
}

/// The same bytes under a header with another size: a picture of many rows of one MCU, or of one
/// row of many.
std::string resized(std::string jpeg, unsigned width, unsigned height) {
  const std::size_t frame = jpeg.find("\xff\xc0");
  const unsigned numbers[] = {height >> 8, height & 255, width >> 8, width & 255};
  for (std::size_t i = 0; i < 4; ++i) jpeg.at(frame + 5 + i) = static_cast<char>(numbers[i]);
  return jpeg;
}

void add_images(const Seeds& seeds, const std::vector<fuzz::File>& jpegs) {
  const std::initializer_list<const char*> targets = {"jpeg", "jpeg_reader", "jpeg_transcode",
                                                      "image_probe"};
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    const std::string jpeg = as_string(jpegs[i]);
    seeds.put(targets, fmt::format("{}.jpg", i), jpeg);
    if (i % 4 == 0) seeds.put("jpeg", fmt::format("{}-tall.jpg", i), resized(jpeg, 8, 65500));
    if (i % 4 == 1) seeds.put("jpeg", fmt::format("{}-flat.jpg", i), resized(jpeg, 65500, 8));
    if (i % 4 == 2) seeds.put("jpeg", fmt::format("{}-mcu.jpg", i), resized(jpeg, 8, 8));
  }
  for (const auto& [name, bytes] : other_images())
    seeds.put({"image_probe", "pixels"}, name, bytes);
}

/// Packs a class folder in a format and an image mode.
void add_shard(const Seeds& seeds, const fs::path& source, const fs::path& out,
               const std::string& format, const std::string& image, int zstd_level) {
  PackOptions options;
  options.format = format;
  options.image = image;
  options.zstd_level = zstd_level;
  options.transform.size = options.transform.short_side = 8;
  options.list.fields.names =
      format == "lmdb" ? std::vector<std::string>() : std::vector<std::string>{"json"};
  pack(source, out, options);
  const std::string name = out.filename();
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    if (!entry.is_regular_file()) continue;
    const std::string file = entry.path().filename();
    const std::string bytes = read_text(entry.path());
    if (file == kManifestName) seeds.put("manifest", name, bytes);
    if (file.ends_with(".index")) seeds.put("shard_index", name, bytes);
    if (file.ends_with(".mdb")) seeds.put("lmdb", name, bytes);
    if (file.ends_with(".zst")) seeds.put({"compressed", "archive"}, name, bytes);
    if (file.ends_with(".tar")) {
      seeds.put({"webdataset", "archive"}, name, bytes);
      seeds.put("tar", name, bytes + '\x1f');  // a choice: read all of it, in large pieces
    }
  }
}

/// Writes a class folder of these images, one of them with a sidecar.
void make_source(const fs::path& folder, std::span<const fuzz::File> jpegs) {
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    const fs::path stem = folder / (i == 0 ? "cat" : "dog") / std::to_string(i);
    fs::create_directories(stem.parent_path());
    write_plain_file(stem.native() + ".jpg", jpegs[i]);
    if (i == 0) write_plain_file(stem.native() + ".json", as_bytes("{\"box\": [1, 2]}"));
  }
}

void add_shards(const Seeds& seeds, const Pictures& pictures, const fs::path& scratch) {
  const fs::path source = scratch / "source", long_source = scratch / "long";
  make_source(source, pictures.whole);
  make_source(long_source, std::vector{pictures.of_overflow_pages, pictures.whole[0]});
  for (const char* format : {"lmdb", "lmdb-members"}) {
    const std::string name(format);
    add_shard(seeds, long_source, scratch / (name + "-long"), name, "original", 0);
  }
  for (const Format* format : all_formats()) {
    for (const TransformKind& mode : all_transforms()) {
      const std::string name(format->name), image(mode.name);
      add_shard(seeds, source, scratch / (name + '-' + image), name, image, 0);
    }
    if (format->compressed_suffix.empty()) continue;
    const std::string name(format->name);
    add_shard(seeds, source, scratch / (name + "-zstd"), name, "original", 3);
  }
}

void add_archives(const Seeds& seeds, const std::string& jpeg) {
  const std::string far = std::string(120, 'd') + "/" + std::string(120, 'n') + ".jpg";
  const std::vector<ArchiveMember> samples = {
      {"a.jpg", jpeg}, {"a.cls", "3"}, {"a.json", "{\"label\": 3}"}, {"__meta__/x", "1"}};
  const std::vector<ArchiveMember> tree = {{"train/", {}, Type::kDirectory},
                                           {"train/cat/a.jpg", jpeg},
                                           {"train/cat/a.txt", "a cat"},
                                           {"train/dog/b.jpg", "train/cat/a.jpg", Type::kHardLink},
                                           {"train/dog/c.jpg", "../cat/a.jpg", Type::kLink},
                                           {"val/cat/" + far, jpeg},
                                           {"../out.jpg", jpeg},
                                           {"/etc/out.jpg", jpeg}};
  const std::string inner = fuzz::make_archive(samples, "ustar");
  for (const char* format : {"ustar", "pax", "gnutar"}) {
    const bool all = std::strcmp(format, "ustar") != 0;  // ustar has no room for the long name
    const auto members = all ? tree : samples;
    const std::string tar = fuzz::make_archive(members, format);
    seeds.put({"archive", "webdataset"}, format, tar);
    seeds.put("tar", format, tar + '\x1f');
    seeds.put("archive", std::string("nested-") + format,
              fuzz::make_archive({{"x/in.tar", tar}, {"x/y.tar", inner}}, format));
  }
  for (const char* filter : {"gzip", "zstd", "xz"})
    seeds.put({"compressed", "archive"}, filter, fuzz::make_archive(samples, "ustar", filter));
  seeds.put({"zip", "archive"}, "tree.zip", fuzz::make_archive(tree, "zip"));
  seeds.put({"zip", "archive"}, "samples.zip", fuzz::make_archive(samples, "zip"));
  for (std::size_t i = 0; i < tree.size(); ++i) seeds.put("names", std::to_string(i), tree[i].name);
}

/// A heap collection with two objects, followed by references to them.
std::string heap() {
  std::string file;
  const auto number = [&](std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(value >> 8 * i);
  };
  file += std::string("GCOL\1\0\0\0", 8);
  number(16 + 2 * 24 + 16, 8);
  for (std::uint64_t index = 1; index <= 2; ++index) {
    number(index | 1 << 16, 8);
    number(5, 8);
    file += "bytes" + std::string(3, '\0');
  }
  number(0, 8);
  number(16, 8);
  for (std::uint64_t index = 1; index <= 2; ++index) {
    number(5, 4);
    number(0, 8);
    number(index, 4);
  }
  return file;
}

/// A NumPy file of version 1.0; `shape` as Python writes it.
std::string npy(const std::string& type, const std::string& shape, const std::string& values) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(kNpyHeaderBytes - 11, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + header + '\n' + values;
}

void add_arrays(const Seeds& seeds) {
  const std::string labels = npy("<i8", "(2,)", '\1' + std::string(15, '\0'));
  const std::string grey = npy("|u1", "(2, 5, 6)", std::string(60, 'p'));
  const std::string colour = npy("|u1", "(2, 3, 5, 4)", std::string(120, 'p'));
  seeds.put("npz", "one", fuzz::make_archive({{"x.npy", grey}, {"y.npy", labels}}, "zip"));
  seeds.put("npz", "splits",
            fuzz::make_archive({{"train_images.npy", colour},
                                {"train_labels.npy", labels},
                                {"test_images.npy", colour},
                                {"test_labels.npy", labels},
                                {"mean.npy", grey}},
                               "zip"));
}

void add_values(const Seeds& seeds, const std::string& jpeg) {
  for (const ImageInfo& info :
       {ImageInfo{ImageKind::kJpeg, 3, 8, 1, 5, 3}, ImageInfo{ImageKind::kRaw, 3, 8, 1, 5, 3}}) {
    const std::string bytes =
        info.kind == ImageKind::kRaw ? std::string(45, 'p') : jpeg.substr(0, 99);
    const lmdb::DatumFrame frame = lmdb::frame_datum(info, bytes.size(), 7);
    seeds.put("datum", extension_of(info.kind).data() + 1, frame.head + bytes + frame.tail);
    if (info.kind == ImageKind::kRaw) seeds.put("npy", "pixels", npy_header(info) + bytes);
  }
  seeds.put("hdf5_heap", "two", heap());
}

void add_annotations(const Seeds& seeds) {
  Objects objects;
  objects.boxes = {{0, 1, 10, 8}, {2, 2, 4, 4}};
  objects.labels = {1, 0};
  objects.flags = {0, kCrowd};
  objects.areas = {40, 4};
  objects.polygons = {0, 1, 1};
  objects.points = {0, 3};
  objects.outlines = {{0, 1}, {10, 1}, {10, 8}};
  objects.runs = {0, 0, 3};
  objects.counts = {22, 4, 94};
  objects.keypoints.resize(2);
  objects.keypoints_each = {1};
  seeds.put("objects", "all", as_text(encode_objects(objects)));
  seeds.put("annotations", "coco",
            R"(0{"images":[{"id":1,"file_name":"a.jpg","width":12,"height":10}],"categories":[)"
            R"({"id":5,"name":"cat","keypoints":["nose"]}],"annotations":[{"id":1,"image_id":1,)"
            R"("category_id":5,"bbox":[1,1,9,8],"segmentation":[[1,1,9,1,9,9]],"area":3,)"
            R"("keypoints":[1,1,2]},{"id":2,"image_id":1,"category_id":5,"bbox":[1,1,2,2],)"
            R"("iscrowd":1,"segmentation":{"size":[10,12],"counts":[22,4,94]}},)"
            R"({"id":3,"image_id":1,"caption":"a cat"}]})");
  seeds.put("annotations", "yolo",
            "10 0.5 0.5 0.2 0.4\n1 0.1 0.1 0.3 0.1 0.2 0.3\n2 0.5 0.5 0.2 0.2 0.5 0.5 2 0 0 0\n");
  seeds.put(
      "annotations", "voc",
      "2<annotation><size><width>20</width><height>10</height></size><object><name>cat</name>"
      "<difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>10</xmax><ymax>8</ymax>"
      "</bndbox></object></annotation>");
  seeds.put("annotations", "data_yaml",
            "3path: .\ntrain: images/train\nval: [images/val, lists/*.txt]\nnc: 2\n"
            "names: {0: cat, 1: 'dog'}\nkpt_shape: [17, 3]\nflip_idx: [0, 2, 1]\n");
  seeds.put("annotations", "metadata",
            R"(4{"file_name":"a.jpg","objects":{"bbox":[[1,1,9,8]],"categories":["cat"]}})"
            "\n"
            R"({"file_name":"b.jpg","width":20,"height":10,"objects":[{"bbox":[1,1,9,8],)"
            R"("category":1,"area":3}]})");
  seeds.put("annotations", "kept_head",
            R"(5{"info":{},"categories":[{"id":5,"name":"cat"},{"id":"x","name":"dog"}]})");
  seeds.put("annotations", "kept_record", R"(6{"image":{"id":12},"annotations":[{"id":1}]})");
  seeds.put(
      "annotations", "labelme",
      R"(7{"shapes":[{"label":"cat","points":[[1,1],[9,8]],"shape_type":"rectangle",)"
      R"("group_id":1,"flags":{"occluded":true}},{"label":"cat","points":[[1,1],[9,1],[9,9]],)"
      R"("shape_type":"polygon","group_id":1}],"imagePath":"a.jpg","imageWidth":12,)"
      R"("imageHeight":10})");
  seeds.put(
      "annotations", "cvat",
      R"(8<annotations><meta><task><labels><label><name>cat</name></label></labels></task>)"
      R"(</meta><image id="0" name="a.jpg" subset="s" width="12" height="10"><box label="cat")"
      R"( xtl="1" ytl="1" xbr="9" ybr="8" rotation="45" occluded="1"><attribute name="a">b)"
      R"(</attribute></box><polygon label="cat" points="1,1;9,1;9,9"/><mask label="cat")"
      R"( rle="1, 2, 1" left="1" top="1" width="2" height="2"/><tag label="x"/></image>)"
      R"(</annotations>)");
  seeds.put("annotations", "table",
            "9path,class,xmin,ymin,xmax,ymax,width,height,IsGroupOf\na.jpg,cat,1,1,9,8,12,10,1\n"
            "b.jpg,,,,,,12,10,0\n");
  seeds.put(
      "annotations", "label_studio",
      R"(:[{"id":1,"data":{"image":"/data/local-files/?d=a%20b.jpg"},"annotations":[{"result":)"
      R"([{"id":"x","type":"rectanglelabels","original_width":12,"original_height":10,"value":)"
      R"({"x":10,"y":10,"width":50,"height":50,"rotation":45,"rectanglelabels":["cat"]}},)"
      R"({"type":"polygonlabels","original_width":12,"original_height":10,"value":{"points":)"
      R"([[1,1],[9,1],[9,9]],"polygonlabels":["cat"]}}]}]}])");
  seeds.put(
      "annotations", "via",
      R"(;{"a.jpg1":{"filename":"a.jpg","regions":[{"shape_attributes":{"name":"rect","x":1,)"
      R"("y":1,"width":8,"height":8},"region_attributes":{"class":"cat"}},{"shape_attributes":)"
      R"({"name":"polygon","all_points_x":[1,9,9],"all_points_y":[1,1,9]},)"
      R"("region_attributes":{"class":{"cat":true}}}]}})");
  seeds.put("annotations", "dota", "<gsd:0.1\n1 1 9 1 9 9 1 9 cat 1\n");
  seeds.put("annotations", "kitti", "=Car 0.5 1 0 1 1 9 8 0 0 0 0 0 0 0\n");
  seeds.put(
      "annotations", "create_ml",
      R"(>[{"image":"a.jpg","annotations":[{"label":"cat","coordinates":{"x":5,"y":4,"width":8,)"
      R"("height":6}}]}])");
}

void add_sample_targets(const Seeds& seeds) {
  ImageInfo grey;
  grey.width = 6, grey.height = 4, grey.components = 1;
  std::vector<std::byte> pixels(24), png;
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::byte>(i % 3);
  encode_png(grey, pixels, png);
  const auto put = [&](const char* name, int parser, std::string_view bytes) {
    seeds.put("sample_targets", name, static_cast<char>(parser) + std::string(bytes));
  };
  put("classes", 0, as_text(encode_classes({{0, 2}, {.5f, 1}})));
  put("mask", 1, as_text(png));
  put("captions", 2,
      R"({"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"}],)"
      R"("annotations":[{"image_id":1,"caption":"a cat\n"},{"image_id":1,"caption":"it"}]})");
  put("lists", 3, "image,tags\na,x|y\nb,\na,\"[\"\"z\"\"]\"\n2");
  put("columns", 3, "image,x,y\na,1,0\nb,.5,-1\n1");
}

/// What torch.save() makes of {"a": torch.zeros(2)}.
std::string pickled() {
  using namespace std::string_literals;
  return "\x80\2ccollections\nOrderedDict\nq\0)Rq\1X\1\0\0\0aq\2"s +
         "ctorch._utils\n_rebuild_tensor_v2\nq\3((X\7\0\0\0storageq\4ctorch\nFloatStorage\nq\5"s +
         "X\1\0\0\0"s + "0q\6X\3\0\0\0cpuq\7K\2tq\x08QK\0K\2\x85q\tK\1\x85q\n\x89"s +
         "ccollections\nOrderedDict\nq\x0b)Rq\x0ctq\rRq\x0es."s;
}

void add_weights(const Seeds& seeds) {
  const std::string numbers(8, '\0');
  seeds.put("pickle", "state", pickled());
  seeds.put("torch_zip", "state",
            fuzz::make_archive({{"m/data.pkl", pickled()},
                                {"m/byteorder", "little"},
                                {"m/data/0", numbers},
                                {"m/version", "3\n"}},
                               "zip"));
  const std::string header =
      R"({"__metadata__":{"a":"b"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  seeds.put("safetensors", "one", length + header + numbers);
}

/// Choices are taken off the end.
void add_given_labels(const Seeds& seeds) {
  const auto put = [&](const char* name, std::string text, std::initializer_list<char> choices) {
    seeds.put("given_labels", name, text.append(choices));
  };
  const std::string table = "id,breed,file_name,label\n1,pug,cat_1.jpg,1\n2,owl,dog_2,2\n";
  put("csv", table, {0, 0, 0, 0, 1});
  put("csv_breed", table, {0, 2, 1, 0, 1});
  put("csv_ids", table, {1, 1, 1, 0, 1});
  put("csv_numbers", "cat_1.jpg,pug\ndog_2.jpg,owl\n", {0, 3, 3, 1, 1});
  put("jsonl", R"({"file_name": "dog_2.jpg", "label": 1})", {0, 1, 1, 0, 2});
  put("alone", "1\n2\n1\n", {1, 0, 0, 1, 3});
  put("ids", "1 cat x\n2,dog\nn01\towl\n", {4});
  put("pattern", R"(^(.+)_\d+\.jpg$)", {0});
  put("pattern_path", "/(?<class>[a-z]*)_", {0});
  put("pattern_or", "(?i:(cat)|(d.g))", {0});
}

void add_texts(const Seeds& seeds) {
  seeds.put("list", "csv",
            std::string("path,label,split,note\na.jpg,cat,train,\"x, \"\"y\"\"\"\n"
                        "../b.jpg,dog,val,\r\n/c.jpg,7,train,z\n") +
                '\0');
  seeds.put("list", "tsv", std::string("path\tlabel\na.jpg\t1\nb/c.jpg\t0\n") + '\1');
  seeds.put("list", "jsonl",
            std::string("{\"path\": \"a.jpg\", \"label\": 1, \"box\": [1, 2.50]}\n"
                        "{\"path\": \"b.jpg\", \"label\": \"cat\", \"note\": null}\n") +
                '\2');
  seeds.put("labels", "spaces", "a.jpg 3\nb/a.jpg 2\n\nd.png 0\n");
  seeds.put("labels", "commas", "path,label\n\"a.jpg\",cat\n./c/d.png, dog\n");
  seeds.put("labels", "tabs", "a.jpg\tgreat grey owl\r\nb/a.jpg\tcat\r\n");
  add_given_labels(seeds);
  seeds.put("json", "row", "{\"path\": \"a\\u00e9.jpg\", \"label\": -1, \"x\": [{\"y\": null}]}");
  seeds.put("json", "nested",
            R"({"label": "cat", "cls": 3, "x": [[1, -2.5e3], true, false, {"b": "\ud83d\ude00\n", )"
            R"("c": {}}], "y": 18446744073709551616})");
  seeds.put("json", "task", task_line({WalkTask::Kind::kDecode, "wds", "/a", "/b"}, {}));
  seeds.put("json", "finding", finding_line({FindingKind::kStructure, 3, true, "words"}));
  seeds.put("json", "end", end_line({WalkEnd::Kind::kCrashed, 11, 4, "words"}));
}

/// The first byte says which parser.
void add_storage_texts(const Seeds& seeds) {
  const auto put = [&](const char* name, int parser, std::string_view text) {
    seeds.put("storage_text", name, static_cast<char>(parser) + std::string(text));
  };
  put("s3", 0, "s3://bucket/packed%20here/train");
  put("https", 0, "https://example.com:8443/a/b%C3%BC?sig=a%2Fb");
  put("ipv6", 0, "http://[fd00:ec2::23]:80//a/");
  put("user", 0, "https://user:secret@host/a?b");
  put("profiles", 1,
      "[default]\naws_access_key_id = AKIA\naws_secret_access_key=a/b+c # mine\n\n"
      "[profile \"a name\"]\nregion = eu-west-1\nservices = here\n");
  put("services", 1, "[services here]\r\ns3 =\r\n  endpoint_url = http://localhost:8333\r\n");
  put("process", 1, "[default]\ncredential_process = /bin/tool 'a b' \"c \\\"d\\\"\" e\\ f\n");
  put("json", 2,
      R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t",)"
      R"( "Expiration": "2013-05-24T12:00:00.5+02:00"})");
}

/// The first byte says which parser.
void add_storage_answers(const Seeds& seeds) {
  const auto put = [&](const char* name, int parser, std::string_view text) {
    seeds.put("storage_answers", name, static_cast<char>(parser) + std::string(text));
  };
  const std::string xmlns = R"( xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)";
  put("fault", 0, "<Error><Code>SlowDown</Code><Message>Reduce &amp; wait</Message></Error>");
  put("list", 1,
      "<ListBucketResult" + xmlns + "<Contents><Key>p/a</Key><Size>12</Size></Contents>" +
          "<IsTruncated>true</IsTruncated><NextContinuationToken>t=</NextContinuationToken>" +
          "</ListBucketResult>");
  put("range", 2, "bytes 0-99/1000");
  put("seconds", 3, "120");
  put("date", 3, "Fri, 24 May 2013 00:00:00 GMT");
  put("begun", 4,
      "<InitiateMultipartUploadResult" + xmlns +
          "<UploadId>a/b+c=</UploadId></InitiateMultipartUploadResult>");
  put("uploads", 5,
      "<ListMultipartUploadsResult" + xmlns +
          "<Upload><Key>p/a</Key><UploadId>one</UploadId></Upload></ListMultipartUploadsResult>");
}

void add_receipt(const Seeds& seeds, const fs::path& scratch) {
  ShardOutcome outcome;
  outcome.record = {"none", "none", 0, 0, 3, 4, "ab", "cd"};
  outcome.bytes_in = 5;
  outcome.notes = {{"kept", 1}};
  outcome.rejects = {{"a.jpg", Reason::kEmptyFile}};
  const fs::path file = scratch / "receipt";
  write_receipt(file, "inputs", outcome);
  seeds.put("receipt", "good", read_text(file));
}

void add_cache(const Seeds& seeds) {
  const RunsHeader header{sha256(as_bytes("none")), kRunBytes + 5, 7};
  const std::string runs = as_string(runs_header_bytes(header)) + std::string(2, '\1');
  // The last two bytes choose what it is (fuzz_runs_file.cc).
  seeds.put("runs_file", "runs", runs + std::string("\1\0", 2));
  seeds.put("runs_file", "runs-as-long", runs + std::string("\2\0", 2));
  seeds.put("runs_file", "account", account_text({kRunBytes, 5}) + std::string(2, '\0'));
}

void make_seeds(const fs::path& folder) {
  const Seeds seeds(folder);
  const Pictures pictures = make_pictures();
  const fs::path scratch = folder.native() + ".scratch";
  fs::remove_all(scratch);
  const std::string smallest = as_string(pictures.whole[0]);
  add_images(seeds, pictures.any);
  add_shards(seeds, pictures, scratch);
  add_archives(seeds, smallest);
  add_arrays(seeds);
  add_values(seeds, smallest);
  add_annotations(seeds);
  add_sample_targets(seeds);
  add_weights(seeds);
  add_texts(seeds);
  add_storage_texts(seeds);
  add_storage_answers(seeds);
  add_receipt(seeds, scratch);
  add_cache(seeds);
  fs::remove_all(scratch);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  try {
    make_seeds(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz_seeds: {}\n", error.what());
    return 1;
  }
  return 0;
}

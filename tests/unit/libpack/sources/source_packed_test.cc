#include <algorithm>

#include "dataset/shard_index.h"
#include "formats/format.h"
#include "sources/source.h"
#include "unit/libpack/packing/pack_place.h"

namespace packhorse {

namespace {

using Names = std::vector<std::string>;

/// "key path=label" of every entry.
Names entries(const Source& source, const SplitListing& split) {
  Names all;
  for (std::size_t i = 0; i < split.entries.size(); ++i) {
    all.push_back(source.key(split, i) + " " + split.entries.path_of(i) + "=" +
                  std::to_string(split.entries.label_of(i)));
  }
  return all;
}

}  // namespace

TEST_CASE("source packed: samples come in their stored order with key, path, label and bytes") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    PackPlace place;
    place.options.format = format->name;
    place.pack();
    const PackedDataset dataset(place.out);
    const auto source = open_source(place.out);
    CHECK(source->ordered());
    CHECK(source->image_mode() == "original");
    CHECK(source->image_settings().empty());
    const Listing listing = source->list({});
    CHECK(listing.classes == dataset.classes());
    REQUIRE(listing.splits.size() == 1);
    const SplitListing& split = listing.splits[0];
    CHECK(split.split.empty());
    REQUIRE(split.entries.size() == dataset.size());
    CHECK(listing.seen() == dataset.size());
    Input input;
    input.image.kind = ImageKind::kRaw;
    input.fields = 7;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      source->read(split, i, input);
      const PackedDataset::Place at = dataset.place(i);
      const EntryTable::Entry entry = split.entries[i];
      CHECK(entry.path == dataset.index(at.shard)->path(at.row));
      CHECK(as_text(input.bytes) == read_text(place.source / entry.path));
      CHECK(entry.size == input.bytes.size());
      CHECK(source->key(split, i) == key_of(i));
      CHECK(entry.label == dataset.index(at.shard)->label(at.row));
      CHECK(input.image.kind == ImageKind::kUnknown);
      CHECK(input.fields == 0);
    }
  }
}

TEST_CASE("source packed: the stamp is the image's hash, so that another image is noticed") {
  PackPlace place;
  place.pack();
  const PackedDataset dataset(place.out);
  const Listing listing = open_source(place.out)->list({});
  CHECK(listing.splits[0].entries[3].stamp == static_cast<std::int64_t>(dataset.index(0)->hash(3)));
}

TEST_CASE("source packed: a class list gives the names other labels") {
  PackPlace place;
  place.pack();
  const Listing as_packed = open_source(place.out)->list({});
  ListOptions options;
  options.classes = {"none", as_packed.classes[2], as_packed.classes[0], as_packed.classes[1]};
  const Listing listing = open_source(place.out)->list(options);
  CHECK(listing.classes == options.classes);
  for (std::size_t i = 0; i < as_packed.splits[0].entries.size(); ++i) {
    const auto before = static_cast<std::size_t>(as_packed.splits[0].entries.label_of(i));
    const auto after = static_cast<std::size_t>(listing.splits[0].entries.label_of(i));
    CHECK(options.classes[after] == as_packed.classes[before]);
  }
  options.classes.pop_back();
  CHECK(kind_of_error([&] { open_source(place.out)->list(options); }) == ErrorKind::kUsage);
}

TEST_CASE("source packed: splits are the datasets below a directory") {
  const TemporaryDirectory folder;
  make_folder(folder / "in/train", 2, 3);
  make_folder(folder / "in/val", 2, 1);
  pack(folder / "in", folder / "out", pack_options("wds"));
  const auto source = open_source(folder / "out");
  const Listing listing = source->list({});
  REQUIRE(listing.splits.size() == 2);
  CHECK(listing.splits[0].split == "train");
  CHECK(listing.splits[0].entries.size() == 6);
  CHECK(listing.splits[1].split == "val");
  CHECK(listing.splits[1].entries.size() == 2);
  Input input;
  source->read(listing.splits[1], 1, input);
  CHECK(as_text(input.bytes) ==
        read_text(folder / "in/val" / listing.splits[1].entries.path_of(1)));
}

TEST_CASE("source packed: splits with different class lists need one to be given") {
  const TemporaryDirectory folder;
  make_folder(folder / "a", 2, 1);
  make_folder(folder / "b", 3, 1);
  pack(folder / "a", folder / "out/train", pack_options("wds"));
  pack(folder / "b", folder / "out/val", pack_options("wds"));
  CHECK(kind_of_error([&] { open_source(folder / "out")->list({}); }) == ErrorKind::kUsage);
  ListOptions options;
  options.classes = {"c2", "c1", "c0"};
  const auto source = open_source(folder / "out");
  const Listing listing = source->list(options);
  Names labels;
  for (const std::string& line : entries(*source, listing.splits[0]))
    labels.push_back(line.substr(line.find(' ') + 1));
  std::sort(labels.begin(), labels.end());
  CHECK(labels == Names{"c0/0000.pgm=2", "c1/0000.pgm=1"});
}

TEST_CASE("source packed: a damaged image is an Error when it is read") {
  PackPlace place;
  place.pack();
  const PackedDataset dataset(place.out);
  const auto source = open_source(place.out);
  const Listing listing = source->list({});
  test::flip_byte(dataset.data_path(0), dataset.index(0)->range(1).offset);
  Input input;
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kCorrupt);
  source->read(listing.splits[0], 0, input);
}

TEST_CASE("source packed: what it has not is refused by name") {
  PackPlace place;
  place.pack();
  ListOptions options;
  options.fields.names = {"json"};
  CHECK(kind_of_error([&] { open_source(place.out)->list(options); }) == ErrorKind::kUsage);
  options.fields.names = Names{};
  CHECK(open_source(place.out)->list(options).fields.empty());
  options.labels.files[""] = "labels.txt";
  CHECK(kind_of_error([&] { open_source(place.out)->list(options); }) == ErrorKind::kUsage);
}

TEST_CASE("source packed: a folder with somebody else's dataset.json is none") {
  const TemporaryDirectory folder;
  make_folder(folder.path(), 2, 1);
  put(folder / "dataset.json", "{}");
  put(folder / "c0/dataset.json", "{}");
  CHECK(open_source(folder.path())->ordered() == false);
}

TEST_CASE("source packed: fields are those of the samples that have them, or those chosen") {
  const TemporaryDirectory folder;
  make_folder(folder / "in", 2, 3);
  put(folder / "in/c0/0001.json", "{}");
  put(folder / "in/c1/0002.json", "[1]");
  put(folder / "in/c1/0002.txt", "two");
  PackOptions options = pack_options("wds");
  options.list.fields.names = {"json", "txt"};
  options.plan.shuffle = false;
  pack(folder / "in", folder / "out", options);
  for (const bool all : {true, false}) {
    ListOptions list;
    if (!all) list.fields.names = {"txt"};
    const auto source = open_source(folder / "out");
    const Listing listing = source->list(list);
    CHECK(listing.fields == (all ? Names{"json", "txt"} : Names{"txt"}));
    const EntryTable& entries = listing.splits[0].entries;
    CHECK(entries.facts(0).fields == 0);
    CHECK(entries.facts(1).fields == (all ? 1 : 0));
    CHECK(entries.facts(1).field_bytes == (all ? 2 : 0));
    Input input;
    source->read(listing.splits[0], 5, input);
    REQUIRE(input.fields == (all ? 2 : 1));
    CHECK(input.extras[input.fields - 1].field == (all ? 1 : 0));
    CHECK(as_text(input.extras[input.fields - 1].bytes) == "two");
    if (all) CHECK(as_text(input.extras[0].bytes) == "[1]");
    source->read(listing.splits[0], 0, input);
    CHECK(input.fields == 0);
  }
}

}  // namespace packhorse

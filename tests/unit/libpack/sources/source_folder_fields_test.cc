#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "listings.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Rules = std::map<std::string, std::uint64_t>;

const std::string kAlone = "a field without its image";

ListOptions with_labels(const fs::path& file, Names classes = {}) {
  ListOptions options;
  options.labels.files[""] = file;
  options.classes = std::move(classes);
  return options;
}

/// "path: name=text name=text" of every entry.
Names samples(const Source& source, const Listing& listing, std::size_t split = 0) {
  Names all;
  for (std::size_t i = 0; i < listing.splits[split].entries.size(); ++i) {
    Input input;
    source.read(listing.splits[split], i, input);
    std::string text = listing.splits[split].entries.path_of(i) + ":";
    for (std::size_t f = 0; f < input.fields; ++f) {
      text += " " + listing.fields[input.extras[f].field] + "=" +
              std::string(as_text(input.extras[f].bytes));
    }
    all.push_back(text);
  }
  return all;
}

std::int64_t stamp(const fs::path& root) {
  return open_source(root)->list(with_fields({"json"})).splits[0].entries[0].stamp;
}

}  // namespace

TEST_CASE("source folder: wanted fields lie beside the image, named like it up to its extension") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/1.json", "one");
  put(root / "c/1.seg.png", "mask");
  put(root / "c/1.txt", "not wanted");
  put(root / "c/a.b.JPG", "x");
  put(root / "c/a.b.json", "two");
  put(root / "c/a.json", "no image");
  put(root / "c/below/2.png", "x");
  const auto source = open_source(root.path());
  const Listing listing = source->list(with_fields({"seg.png", "json", "json"}));
  CHECK(listing.fields == Names{"json", "seg.png"});
  CHECK(samples(*source, listing) ==
        Names{"c/1.jpg: json=one seg.png=mask", "c/a.b.JPG: json=two", "c/below/2.png:"});
  CHECK(count_by_rule(listing.splits[0].skips) ==
        Rules{{kAlone, 1}, {"not an image, by name and first bytes", 1}});
  CHECK(listing.seen() == 5);
  CHECK(listing.splits[0].entries[0].field_bytes == 7);
}

TEST_CASE("source folder: without fields wanted, what looks like a mask is an image") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/1.seg.png", "mask");
  CHECK(open_source(root.path())->list({}).splits[0].entries.size() == 2);
}

TEST_CASE("source folder: images that differ in their extension alone share a field") {
  const TemporaryDirectory root;
  put(root / "c/a.jpg", "x");
  put(root / "c/a.JPG", "x");
  put(root / "c/a.png", "x");
  put(root / "c/a.json", "all");
  const auto source = open_source(root.path());
  const Listing listing = source->list(with_fields({"json"}));
  CHECK(samples(*source, listing) ==
        Names{"c/a.JPG: json=all", "c/a.jpg: json=all", "c/a.png: json=all"});
  CHECK(listing.seen() == 3);
}

TEST_CASE("source folder: a field outside the class folders has no image") {
  const TemporaryDirectory root;
  put(root / "stray.jpg", "x");
  put(root / "stray.json", "x");
  put(root / "c/1.jpg", "x");
  put(root / "c/1.json", "x");
  const Listing listing = open_source(root.path())->list(with_fields({"json"}));
  CHECK(sorted(rejects(listing.splits[0])) == Names{"stray.jpg: not in a class folder"});
  CHECK(listing.seen() == 2);
}

TEST_CASE("source folder: the stamp changes when a field does, comes or goes") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/1.json", "one");
  put(root / "c/2.jpg", "x");
  put(root / "c/2.json", "x");
  const std::int64_t first = stamp(root.path());
  CHECK(stamp(root.path()) == first);
  put(root / "c/1.json", "more");
  const std::int64_t larger = stamp(root.path());
  CHECK(larger != first);
  fs::last_write_time(root / "c/1.json", fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(stamp(root.path()) != larger);
  fs::remove(root / "c/1.json");
  CHECK(stamp(root.path()) == open_source(root.path())->list({}).splits[0].entries[0].stamp);
}

TEST_CASE("source folder: a field that is gone, or of another size, is an Error that names it") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/1.json", "one");
  put(root / "c/2.jpg", "x");
  fs::create_symlink("nowhere", root / "c/2.json");
  const auto source = open_source(root.path());
  const Listing listing = source->list(with_fields({"json"}));
  REQUIRE(listing.splits[0].entries.size() == 2);
  Input input;
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kNotFound);
  put(root / "c/1.json", "more");
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 0, input); }) == ErrorKind::kIo);
  fs::remove(root / "c/1.json");
  try {
    source->read(listing.splits[0], 0, input);
    FAIL("no Error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("its field json: "));
    CHECK(error.path() == root / "c/1.json");
  }
}

TEST_CASE("source folder: a field nobody has, or with an impossible name, is refused") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/1.txt", "x");
  for (const char* name : {"json", "png", "cls", "", ".txt", "a/b", "TXT"}) {
    CHECK(kind_of_error([&] { open_source(root.path())->list(with_fields({name})); }) ==
          ErrorKind::kUsage);
  }
}

TEST_CASE("source folder: a labels file labels images wherever they lie") {
  const TemporaryDirectory root, elsewhere;
  put(root / "1.jpg", "x");
  put(root / "2.jpg", "x");
  put(root / "d/e/3.jpg", "x");
  put(root / "d/4.jpg", "x");
  put(root / "notes.txt", "x");
  put(elsewhere / "labels", "path,label\n1.jpg,7\nd/e/3.jpg,0\n4.jpg,1\n5.jpg,1\n6.jpg,1\n");
  const auto source = open_source(root.path());
  const Listing listing = source->list(with_labels(elsewhere / "labels"));
  CHECK(listing.classes.size() == 8);
  CHECK(listing.classes[7] == "7");
  CHECK(entries(listing.splits[0]) == Names{"1.jpg=7", "d/4.jpg=1", "d/e/3.jpg=0"});
  CHECK(sorted(rejects(listing.splits[0])) == Names{"2.jpg: not in the labels file"});
  CHECK(listing.notes ==
        Names{"the labels are integers up to 7, so there are 8 classes, of which 3 occur",
              "labels file 'labels': commas, a header, 2 columns: the path is 'path', the label is "
              "'label'",
              "2 lines of the labels file matched no image of the source"});
  CHECK(listing.seen() == 5);
  Input input;
  source->read(listing.splits[0], 2, input);
  CHECK(as_text(input.bytes) == "x");
}

TEST_CASE("source folder: a labels file names the images of splits by their path in the source") {
  const TemporaryDirectory root, elsewhere;
  put(root / "train/1.jpg", "x");
  put(root / "train/2.jpg", "x");
  put(root / "val/1.jpg", "x");
  put(root / "val/3.jpg", "x");
  put(elsewhere / "labels", "train/1.jpg dog\nval/1.jpg cat\n2.jpg cat\n3.jpg cow\n");
  const Listing listing =
      open_source(root.path())->list(with_labels(elsewhere / "labels", {"cat", "dog", "cow"}));
  CHECK(listing.classes == Names{"cat", "dog", "cow"});
  CHECK(entries(listing.splits[0]) == Names{"1.jpg=1", "2.jpg=0"});
  CHECK(entries(listing.splits[1]) == Names{"1.jpg=0", "3.jpg=2"});
  CHECK(listing.notes ==
        Names{"labels file 'labels': blanks, no header, 2 columns: the path is 1, the label is 2"});
}

TEST_CASE("source folder: labels and fields go together") {
  const TemporaryDirectory root, elsewhere;
  put(root / "1.jpg", "x");
  put(root / "1.json", "one");
  put(elsewhere / "labels", "1.jpg 0\n");
  ListOptions options = with_fields({"json"});
  options.labels.files[""] = elsewhere / "labels";
  const auto source = open_source(root.path(), {}, options);
  CHECK(samples(*source, source->list(options)) == Names{"1.jpg: json=one"});
}

TEST_CASE("source folder: a listing is the same each time, whatever the folder's size") {
  const TemporaryDirectory root;
  for (int i = 0; i < 6000; ++i) put(root / "large" / (std::to_string(i) + ".jpg"), "x");
  for (int c = 0; c < 40; ++c) {
    const fs::path folder = root / ("c" + std::to_string(c)) / "d";
    put(folder / "1.jpg", "x");
    fs::create_symlink("nowhere", folder / "x.jpg");
  }
  for (const char* name : {"a/1.jpg", "a-b/1.jpg", "a/b/1.jpg", "a.b/1.jpg"}) put(root / name, "x");
  fs::create_symlink("nowhere", root / "large" / "x.jpg");
  const Listing first = open_source(root.path())->list({});
  const Names paths = entries(first.splits[0]);
  REQUIRE(paths.size() == 6044);
  for (std::size_t i = 1; i < paths.size(); ++i)
    CHECK(first.splits[0].entries.path_of(i - 1) < first.splits[0].entries.path_of(i));
  for (int again = 0; again < 5; ++again) {
    const Listing listing = open_source(root.path())->list({});
    CHECK(entries(listing.splits[0]) == paths);
    REQUIRE(listing.splits[0].rejects.size() == 41);
    for (std::size_t i = 0; i < 41; ++i)
      CHECK(listing.splits[0].rejects[i].path == first.splits[0].rejects[i].path);
  }
}

TEST_CASE("source folder: asking ahead for an image that is gone, or for a FIFO, is no Error") {
  const TemporaryDirectory root;
  put(root / "c/1.jpg", "x");
  put(root / "c/2.jpg", "x");
  const auto source = open_source(root.path());
  const Listing listing = source->list({});
  fs::remove(root / "c/1.jpg");
  CHECK(!source->prefetch(listing.splits[0], 0));
  fs::remove(root / "c/2.jpg");
  REQUIRE(::mkfifo((root / "c/2.jpg").c_str(), 0600) == 0);
  source->prefetch(listing.splits[0], 1);
}

}  // namespace packhorse

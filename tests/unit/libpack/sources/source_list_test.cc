#include <algorithm>
#include <fstream>

#include "listings.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using test::tiny_image;

/// A folder with the images a/1.pgm, a/2.pgm and b/3.pgm, of 1, 2 and 3 bytes, and a list of them.
struct Folder : TemporaryDirectory {
  Folder() {
    put(*this / "a/1.pgm", "1");
    put(*this / "a/2.pgm", "22");
    put(*this / "b/3.pgm", "333");
  }
  fs::path list(const std::string& name, const std::string& text) const {
    put(*this / name, text);
    return *this / name;
  }
};

Listing list_file(const fs::path& file, const ListOptions& options = {}) {
  return open_source(file)->list(options);
}

/// "name=text" of the extra fields of entry `i`.
Names fields_of(const Source& source, const Listing& listing, std::size_t i) {
  Input input;
  source.read(listing.splits[0], i, input);
  Names all;
  for (std::size_t f = 0; f < input.fields; ++f) {
    all.push_back(listing.fields[input.extras[f].field] + "=" +
                  std::string(as_text(input.extras[f].bytes)));
  }
  return all;
}

std::string refusal(const fs::path& file, const ListOptions& options = {}) {
  try {
    list_file(file, options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("source list: rows are entries in the list's order, whatever the columns' order") {
  const Folder folder;
  for (const fs::path& file :
       {folder.list("x.csv", "path,label\nb/3.pgm,dog\na/1.pgm,cat\na/2.pgm,dog\n"),
        folder.list("y.TSV",
                    "\xef\xbb\xbfLabel\tPath\r\ndog\tb/3.pgm\r\ncat\ta/1.pgm\r\ndog\ta/2.pgm"),
        folder.list("z.jsonl",
                    "{\"label\":\"dog\",\"path\":\"b/3.pgm\"}\n\n"
                    "{\"path\":\"a\\/1.pgm\",\"label\":\"cat\"}\n"
                    "{\"path\":\"./a/2.pgm\",\"label\":\"dog\"}\n")}) {
    const Listing listing = list_file(file);
    CHECK(listing.classes == Names{"cat", "dog"});
    REQUIRE(listing.splits.size() == 1);
    CHECK(listing.splits[0].split.empty());
    CHECK(entries(listing.splits[0]) == Names{"b/3.pgm=1", "a/1.pgm=0", "a/2.pgm=1"});
    CHECK(listing.splits[0].entries.size_of(0) == 3);
    CHECK(listing.splits[0].entries[0].stamp > 0);
    CHECK(listing.seen() == 3);
  }
}

TEST_CASE("source list: integers are labels; with a class list, places in it") {
  const Folder folder;
  const fs::path file = folder.list("x.csv", "path,label\na/1.pgm,2\na/2.pgm,0\n");
  CHECK(list_file(file).classes == Names{"0", "1", "2"});
  const Listing pinned = list_file(file, with_classes({"x", "y", "z"}));
  CHECK(pinned.classes == Names{"x", "y", "z"});
  CHECK(entries(pinned.splits[0]) == Names{"a/1.pgm=2", "a/2.pgm=0"});
  const fs::path json = folder.list("x.jsonl", "{\"path\":\"a/1.pgm\",\"label\":1}\n");
  CHECK(entries(list_file(json).splits[0]) == Names{"a/1.pgm=1"});
}

TEST_CASE("source list: each bad row is a reject with its line, and counted") {
  const Folder folder;
  fs::create_directory(folder / "d.jpg");
  const fs::path file = folder.list("x.csv",
                                    "path,label\na/1.pgm,cat\na/2.pgm\ngone.jpg,cat\n,cat\n"
                                    "a/2.pgm,\nd.jpg,cat\nb/3.pgm,cow\nb/3.pgm,cat,more\n");
  const Listing listing = list_file(file, with_classes({"cat", "dog"}));
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0"});
  CHECK(rejects(listing.splits[0]) ==
        Names{"x.csv: line 3: not 2 columns but 1", "gone.jpg: line 4: the file is not there",
              "x.csv: line 5: no path", "a/2.pgm: line 6: no label",
              "d.jpg: line 7: not a regular file",
              "b/3.pgm: line 8: the class 'cow' is not in the class list",
              "x.csv: line 9: not 2 columns but 3"});
  CHECK(listing.seen() == 8);
}

TEST_CASE("source list: a bad line of JSON is a reject with its line") {
  const Folder folder;
  const fs::path file = folder.list(
      "x.jsonl",
      "{\"path\":\"a/1.pgm\",\"label\":\"c\"}\n{\"path\":\"a/2.pgm\"\n[]\n"
      "{\"path\":7,\"label\":\"c\"}\n{\"path\":\"a/2.pgm\",\"label\":1.5}\n"
      "{\"path\":\"a/2.pgm\",\"label\":null}\n{\"path\":\"a\\u0000\",\"label\":\"c\"}\n");
  const Listing listing = list_file(file);
  Names reasons;
  for (const Reject& reject : listing.splits[0].rejects) reasons.push_back(reject.reason);
  CHECK(reasons == Names{"line 2: no JSON", "line 3: no JSON object",
                         "line 4: its path is no string",
                         "line 5: its label is no string and no integer", "line 6: no label",
                         "line 7: a zero byte in the path"});
  CHECK(listing.seen() == 7);
}

TEST_CASE("source list: splits come as train, val, valid, validation, test, then by name") {
  const Folder folder;
  const fs::path file = folder.list(
      "x.csv",
      "path,label,split\na/1.pgm,c,test\na/2.pgm,c,extra\nb/3.pgm,c,val\na/1.pgm,c,train\n"
      "a/1.pgm,c,\na/1.pgm,c,../x\n");
  const Listing listing = list_file(file);
  Names names;
  for (const SplitListing& split : listing.splits) names.push_back(split.split);
  CHECK(names == Names{"train", "val", "test", "extra"});
  CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0"});
  CHECK(entries(listing.splits[2]) == Names{"a/1.pgm=0"});
  CHECK(rejects(listing.splits[0]) ==
        Names{"a/1.pgm: line 6: no split", "a/1.pgm: line 7: '../x' is no name for a split"});
  CHECK(listing.seen() == 6);
}

TEST_CASE("source list: a file listed again is another sample with another path") {
  const Folder folder;
  const fs::path file = folder.list(
      "x.csv", "path,label\na/1.pgm,c\n./a/1.pgm,c\na/2.pgm,d\na//1.pgm,c\n~2/a/1.pgm,c\n");
  put(folder / "~2/a/1.pgm", "4444");
  const auto source = open_source(file);
  const Listing listing = source->list({});
  CHECK(entries(listing.splits[0]) ==
        Names{"a/1.pgm=0", "~2/a/1.pgm=0", "a/2.pgm=1", "~3/a/1.pgm=0"});
  CHECK(rejects(listing.splits[0]).size() == 1);
  CHECK(listing.notes.back() == "2 rows list a file again: each is a sample");
  for (const std::size_t i : {0u, 1u, 3u}) {
    Input input;
    source->read(listing.splits[0], i, input);
    CHECK(as_text(input.bytes) == "1");
  }
}

TEST_CASE("source list: paths may lead out of the list's folder, and are stored without '..'") {
  const Folder folder;
  for (const std::string& out : {std::string("../"), folder.path().string() + "/"}) {
    const fs::path file =
        folder.list("lists/x.csv", "path,label\n" + out + "a/1.pgm,c\n" + out + "b/3.pgm,c\n");
    const auto source = open_source(file);
    const Listing listing = source->list({});
    CHECK(entries(listing.splits[0]) == Names{"a/1.pgm=0", "b/3.pgm=0"});
    Input input;
    source->read(listing.splits[0], 1, input);
    CHECK(as_text(input.bytes) == "333");
  }
}

TEST_CASE("source list: further columns are extra fields, an empty cell is none") {
  const Folder folder;
  const fs::path file = folder.list(
      "x.csv",
      "path,Caption,label,boxes.json\na/1.pgm,\"two\nlines, \"\"quoted\"\"\",c,[1]\na/2.pgm,,c,\n"
      "b/3.pgm,,c,{}\n");
  const auto source = open_source(file);
  const Listing listing = source->list({});
  CHECK(listing.fields == Names{"boxes.json", "caption"});
  CHECK(fields_of(*source, listing, 0) ==
        Names{"boxes.json=[1]", "caption=two\nlines, \"quoted\""});
  CHECK(fields_of(*source, listing, 1).empty());
  CHECK(fields_of(*source, listing, 2) == Names{"boxes.json={}"});
  CHECK(listing.splits[0].entries[0].field_bytes == 3 + 19);
  CHECK(listing.splits[0].entries[2].fields == 1);
  const auto narrowed = open_source(file);
  const Listing one = narrowed->list(with_fields({"caption"}));
  CHECK(one.fields == Names{"caption"});
  CHECK(fields_of(*narrowed, one, 2).empty());
  CHECK(list_file(file, with_fields({})).fields.empty());
}

TEST_CASE("source list: of JSON, values that are no strings are fields as they are written") {
  const Folder folder;
  const fs::path file = folder.list("x.jsonl",
                                    "{\"path\":\"a/1.pgm\",\"label\":0,\"boxes\":[[1, 2.50]]}\n"
                                    "{\"path\":\"a/2.pgm\",\"label\":0,\"caption\":\"\\u00e4\"}\n");
  const auto source = open_source(file);
  const Listing listing = source->list({});
  CHECK(listing.fields == Names{"boxes", "caption"});
  CHECK(fields_of(*source, listing, 0) == Names{"boxes=[[1, 2.50]]"});
  CHECK(fields_of(*source, listing, 1) == Names{"caption=\xc3\xa4"});
}

TEST_CASE("source list: fields are found again after a choice of entries in another order") {
  const Folder folder;
  const auto source = open_source(folder.list(
      "x.tsv", "path\tlabel\tcaption\na/1.pgm\tc\tone\na/2.pgm\tc\ttwo\nb/3.pgm\tc\tthree\n"));
  Listing listing = source->list({});
  EntryTable chosen;
  chosen.add_from(listing.splits[0].entries, 2);
  chosen.add_from(listing.splits[0].entries, 0);
  listing.splits[0].entries = chosen;
  CHECK(fields_of(*source, listing, 0) == Names{"caption=three"});
  CHECK(fields_of(*source, listing, 1) == Names{"caption=one"});
}

TEST_CASE("source list: the stamp changes with a field, as with the file") {
  const Folder folder;
  const auto stamp = [&](const std::string& caption) {
    return list_file(folder.list("x.csv", "path,label,caption\na/1.pgm,c," + caption + "\n"))
        .splits[0]
        .entries[0]
        .stamp;
  };
  CHECK(stamp("one") == stamp("one"));
  CHECK(stamp("one") != stamp("two"));
}

TEST_CASE("source list: a header that cannot be is an Error that says what is there") {
  const Folder folder;
  CHECK(refusal(folder.list("a.csv", "file,label\nx,y\n")) ==
        "the list has no column 'path'; it has: file, label");
  CHECK(refusal(folder.list("b.csv", "path|label\nx|y\n")) ==
        "the list has no column 'path'; it has: path|label");
  CHECK(refusal(folder.list("c.csv", "path,class\nx,y\n")) ==
        "the list has no column 'label'; it has: path, class");
  CHECK(refusal(folder.list("d.csv", "")) == "the list has no column 'path'; it has: none");
  CHECK(refusal(folder.list("e.csv", "path,label,Path\n")) == "the list has two columns 'path'");
  for (const char* name : {"cls", "png", "a b", "", ".x", "x/y", "\xc3\xa4"}) {
    const fs::path file =
        folder.list("f.csv", std::string("path,label,ok,") + name + "\na/1.pgm,c,1,2\n");
    CHECK(refusal(file).find("cannot be the name of an extra field") != std::string::npos);
    CHECK(list_file(file, with_fields({"ok"})).fields == Names{"ok"});
  }
  CHECK(refusal(folder.list("g.csv", "path,label,ok\n"), with_fields({"okay"})) ==
        "the source has no extra field 'okay'");
  ListOptions labels;
  labels.labels.files[""] = "labels.txt";
  CHECK(refusal(folder.list("h.csv", "path,label\na/1.pgm,c\n"), labels) ==
        "a list file has its own labels");
}

TEST_CASE("source list: without a row there is nothing to pack") {
  const Folder folder;
  CHECK(kind_of_error([&] { list_file(folder.list("x.csv", "path,label\n")); }) ==
        ErrorKind::kNotFound);
}

TEST_CASE("source list: an image or a list that changed since is an Error") {
  const Folder folder;
  const std::string text = "path,label,caption\na/1.pgm,c,one\na/2.pgm,c,two\n";
  const fs::path file = folder.list("x.csv", text);
  const auto source = open_source(file);
  const Listing listing = source->list({});
  Input input;
  put(folder / "a/1.pgm", "longer");
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 0, input); }) == ErrorKind::kIo);
  std::fstream(file) << "path,label,caption\na/1.pgm,c,one\na/2.pgm,c,more";
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kIo);
  std::fstream(file) << "path,label,caption\na/1.pgm,c,one\nb/3.pgm,c,two\n";
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kIo);
  put(file, "path,label\n");
  CHECK(kind_of_error([&] { source->read(listing.splits[0], 1, input); }) == ErrorKind::kIo);
}

TEST_CASE("source list: a list of many rows in any order is listed as it is") {
  const TemporaryDirectory folder;
  std::string text = "path,label\n";
  Names wanted;
  for (int i = 0; i < 20'000; ++i) {
    const std::string path = "d" + std::to_string(i % 97) + "/" + std::to_string(i % 50) + ".pgm";
    if (i < 97 * 50) put(folder / path, std::string(static_cast<std::size_t>(1 + i % 50), 'x'));
    if (i < 97 * 50) text += path + ",c" + std::to_string(i % 7) + "\n";
    if (i < 97 * 50)
      wanted.push_back(path + "=" + std::to_string(i % 7));
    else
      text += "gone" + std::to_string(i) + ",c0\n";
  }
  put(folder / "x.csv", text);
  const Listing listing = list_file(folder / "x.csv");
  CHECK(entries(listing.splits[0]) == wanted);
  CHECK(listing.splits[0].rejects.size() == 20'000 - wanted.size());
  CHECK(listing.seen() == 20'000);
}

}  // namespace packhorse

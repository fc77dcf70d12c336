// Input that a writer must refuse, so that nothing is written that cannot be read back.
#include "packhorse/base/error.h"
#include "shards.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::for_each_format;
using test::kind_of_error;
using test::Row;
using test::TemporaryDirectory;
using test::Variant;

/// The text of a refusal, and the key it names.
std::string refusal(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return std::string(error.what()) + " | " + error.key();
  }
  return "not refused";
}

ShardSpec with_fields(std::vector<std::string> names) { return {{"a"}, std::move(names), 0}; }

std::string opening(const Format& format, const fs::path& path, const ShardSpec& spec) {
  return refusal([&] { format.open_writer(path, spec); });
}

Row raw_row(const char* key, std::uint32_t width, std::uint32_t height) {
  return {key, 0, std::string(std::size_t{width} * height * 3, 'p'),
          ImageInfo{ImageKind::kRaw, 3, 8, 1, width, height}};
}

fs::path data_file(const TemporaryDirectory& directory, std::string_view format) {
  return Variant{find_format(format)}.path_in(directory);
}

}  // namespace

TEST_CASE("refusals: fields, by a format that cannot carry them") {
  for_each_format([](const Format& format, const fs::path& path) {
    if (format.carries_fields) {
      CHECK_NOTHROW(format.open_writer(path, with_fields({"json"})));
    } else {
      CHECK(opening(format, path, with_fields({"json"})).find("'json'") != std::string::npos);
    }
  });
}

TEST_CASE("refusals: compression, by a format that cannot be compressed") {
  for_each_format([](const Format& format, const fs::path& path) {
    ShardSpec spec;
    spec.zstd_level = 3;
    if (format.compressed_suffix.empty()) {
      CHECK(opening(format, path, spec) != "not refused");
    } else {
      CHECK_NOTHROW(format.open_writer(path, spec));
    }
  });
}

TEST_CASE("refusals: a level zstd has not, or takes too much memory for") {
  const TemporaryDirectory directory;
  const fs::path path = data_file(directory, "wds");
  for (const int level : {-1, 20, 22, 1000}) {
    CHECK(opening(find_format("wds"), path, {{}, {}, level}).starts_with("the zstd level must be"));
  }
  for (const int level : {1, 19})
    CHECK_NOTHROW(find_format("wds").open_writer(path, {{}, {}, level}));
}

TEST_CASE("refusals: names of fields that no file could have, or in no order") {
  for_each_format([](const Format& format, const fs::path& path) {
    using Names = std::vector<std::string>;
    for (const Names& names :
         {Names{""}, Names{".json"}, Names{"a/b"}, Names{"JSON"}, Names{std::string("a\0b", 3)},
          Names{"txt", "json"}, Names{"json", "json"}}) {
      CHECK(opening(format, path, with_fields(names)) != "not refused");
    }
  });
}

TEST_CASE("refusals: a field that was not announced, is out of order, or given twice") {
  for_each_format([](const Format& format, const fs::path& path) {
    if (!format.carries_fields) return;
    const Field json{"json", {}}, txt{"txt", {}}, other{"xml", {}};
    for (const std::vector<Field>& fields :
         {std::vector{other}, std::vector{json, other}, std::vector{txt, json},
          std::vector{json, json}, std::vector{json, txt, txt}}) {
      const auto writer = format.open_writer(path, with_fields({"json", "txt"}));
      const std::string said = refusal([&] {
        writer->add({"000000007", 0, {}, as_bytes("x"), fields});
      });
      CHECK(said.ends_with("was not announced, or is out of order | 000000007"));
    }
  });
}

TEST_CASE("refusals: a field, though none was announced") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    const Field json{"json", {}};
    CHECK(refusal([&] {
            writer->add({"000000007", 0, {}, as_bytes("x"), {&json, 1}});
          }).find("'json'") != std::string::npos);
  });
}

TEST_CASE("refusals: a field called as the label or the image is, where that is the file's name") {
  const TemporaryDirectory directory;
  for (const char* format : {"wds", "lmdb-members"}) {
    CAPTURE(format);
    CHECK(opening(find_format(format), data_file(directory, format), with_fields({"cls"})) !=
          "not refused");
  }
  const auto writer =
      find_format("wds").open_writer(data_file(directory, "wds"), with_fields({"jpg", "png"}));
  const Field jpg{"jpg", {}}, png{"png", {}};
  const ImageInfo jpeg{ImageKind::kJpeg, 3, 8, 1, 1, 1};
  CHECK_NOTHROW(writer->add({"000000000", 0, jpeg, as_bytes("x"), {&png, 1}}));
  CHECK(refusal([&] {
          writer->add({"000000001", 0, jpeg, as_bytes("x"), {&jpg, 1}});
        }) == "the field 'jpg' has the same extension as the image | 000000001");
  // Members are not ordered there, so any image's extension names the image.
  CHECK(opening(find_format("lmdb-members"), data_file(directory, "lmdb-members"),
                with_fields({"png"})) != "not refused");
}

TEST_CASE("refusals: pixels that are not as many as their size says") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    Row row = raw_row("000000003", 4, 5);
    row.bytes.pop_back();
    CHECK(refusal([&] { test::add(*writer, row); }) ==
          "the number of pixels does not match the image's size | 000000003");
  });
}

TEST_CASE("refusals: raw images of two sizes, or beside files, in one HDF5 shard") {
  const TemporaryDirectory directory;
  const auto writer = find_format("hdf5").open_writer(data_file(directory, "hdf5"), {});
  test::add(*writer, raw_row("000000001", 4, 5));
  CHECK(refusal([&] { test::add(*writer, raw_row("000000002", 5, 4)); }) ==
        "all raw images of an HDF5 shard must have the same size | 000000002");
  CHECK(refusal([&] {
          test::add(*writer, {"000000003", 0, "jpeg"});
        }) == "an HDF5 shard cannot hold both raw pixels and image files | 000000003");
}

TEST_CASE("refusals: keys whose members would come in another order") {
  const TemporaryDirectory directory;
  const auto writer =
      find_format("lmdb-members").open_writer(data_file(directory, "lmdb-members"), {});
  test::add(*writer, {"a", 0, "x"});
  CHECK(refusal([&] {
          test::add(*writer, {"a-b", 0, "x"});
        }) == "keys must be strictly increasing, with the dot that follows them | a-b");
}

TEST_CASE("refusals: a label a Datum cannot hold") {
  const TemporaryDirectory directory;
  const auto writer = find_format("lmdb").open_writer(data_file(directory, "lmdb"), {});
  for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{1} << 31}) {
    CHECK(refusal([&] { test::add(*writer, {"000000000", label, "x"}); }) != "not refused");
  }
}

TEST_CASE("refusals: a key that is too long for a member's name") {
  for (const char* format : {"wds", "lmdb-members", "lmdb"}) {
    CAPTURE(format);
    const TemporaryDirectory directory;
    const auto writer = find_format(format).open_writer(data_file(directory, format), {});
    CHECK(refusal([&] { test::add(*writer, {std::string(600, 'k'), 0, "x"}); }) != "not refused");
  }
}

}  // namespace packhorse

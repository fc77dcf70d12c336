#include "analysis/coco_results.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "packhorse/base/error.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

constexpr const char* kFile = R"({
  "images": [{"id": 7, "file_name": "a/x.jpg", "width": 40, "height": 30},
             {"id": "n8", "file_name": "y.jpg", "width": 40, "height": 30},
             {"id": 9, "file_name": "b/z.jpg", "width": 40, "height": 30},
             {"id": 10, "file_name": "c/z.jpg", "width": 40, "height": 30}],
  "annotations": [],
  "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "cat"}]})";

}  // namespace

TEST_CASE("COCO results: ids of a file, by names") {
  const test::TemporaryDirectory directory;
  test::put(directory / "file.json", kFile);
  const CocoIds ids = CocoIds::of_file(directory / "file.json", {"dog", "cat"});
  CHECK(ids.of_class(0) == "18");
  CHECK(ids.of_class(1) == "3");
  CHECK(ids.of_image("elsewhere/x.jpg") == "7");
  CHECK(ids.of_image("y.jpg") == "\"n8\"");
  CHECK_FALSE(ids.of_image("z.jpg").has_value());  // two have that name
  CHECK_FALSE(ids.of_image("w.jpg").has_value());
  CHECK(kind_of_error([&] { CocoIds::of_file(directory / "file.json", {"cow"}); }) ==
        ErrorKind::kUsage);
}

TEST_CASE("COCO results: ids that a dataset keeps, which others may have written") {
  const std::string head = R"({"info": {}, "categories": [{"id": 5, "name": "b"},
                                                          {"id": 2, "name": "a"}]})";
  CHECK(CocoIds::of_head(head, 2).of_class(0) == "2");  // labels are by ascending id
  for (const char* wrong : {"", "[]", "{}", R"({"categories": 3})", R"({"categories": [{}]})"}) {
    CAPTURE(wrong);
    CHECK(kind_of_error([&] { CocoIds::of_head(wrong, 2); }) == ErrorKind::kCorrupt);
  }
  CHECK(kind_of_error([&] { CocoIds::of_head(head, 3); }) == ErrorKind::kCorrupt);
  CHECK(CocoIds::of_record(R"({"image": {"id": 12}, "annotations": []})") == "12");
  for (const char* wrong : {"", "3", "{}", R"({"image": 4})", R"({"image": {}})"}) {
    CAPTURE(wrong);
    CHECK(kind_of_error([&] { CocoIds::of_record(wrong); }) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("COCO results: boxes are in pixels of the stored picture") {
  const test::TemporaryDirectory directory;
  const std::vector<Detection> found = {{{1, 2, 10, 20}, 1, 0.5}};
  CocoResults results(directory / "r.json", CocoIds(2));
  results.add("1", {.width = 40, .height = 30}, found);
  // Stored 40 x 30, shown 30 x 40 after a turn to the right: what is shown at the top was at the
  // left.
  results.add("2", {.orientation = 6, .width = 40, .height = 30}, found);
  results.add("3", {.orientation = 3, .width = 40, .height = 30}, found);
  results.add("4", {.width = 40, .height = 30}, {});
  CHECK_FALSE(std::filesystem::exists(directory / "r.json"));
  results.finish();
  const auto json = nlohmann::json::parse(std::ifstream(directory / "r.json"));
  REQUIRE(json.size() == 3);
  CHECK(json[0] ==
        nlohmann::json::parse(R"({"image_id":1,"category_id":2,"bbox":[1,2,10,20],"score":0.5})"));
  CHECK(json[1]["bbox"] == nlohmann::json({2, 30 - 11, 20, 10}));
  CHECK(json[2]["bbox"] == nlohmann::json({40 - 11, 30 - 22, 10, 20}));
}

}  // namespace packhorse

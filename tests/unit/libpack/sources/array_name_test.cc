#include "sources/arrays/array_files.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Role = ArrayName::Role;

/// The role's first letter, the split, and what is left of the name.
std::string parsed(const char* text) {
  const ArrayName name = parse_array_name(text);
  if (name.unclear) return "unclear";
  const char* role = name.role == Role::kImages ? "i" : name.role == Role::kLabels ? "l" : "-";
  return std::string(role) + ' ' + name.split + ": " + name.rest;
}

}  // namespace

TEST_CASE("array name: words for images and labels, and for splits, in any case and order") {
  CHECK(parsed("images") == "i : ");
  CHECK(parsed("train_images") == "i train: ");
  CHECK(parsed("X_Test") == "i test: ");
  CHECK(parsed("y-validation") == "l val: ");
  CHECK(parsed("dogs_images") == "i : dogs ");
  CHECK(parsed("scores") == "- : scores ");
  CHECK(parsed("") == "- : ");
}

TEST_CASE("array name: the last part decides, and other parts name the split") {
  CHECK(parsed("train_data/labels") == "l train: ");
  CHECK(parsed("test/x") == "i test: ");
  CHECK(parsed("camelyonpatch_level_2_split_train_y_y") == "l train: camelyonpatch level 2 split ");
  CHECK(parsed("camelyonpatch_level_2_split_train_x/x") == "i train: camelyonpatch level 2 split ");
}

TEST_CASE("array name: words that contradict each other decide nothing") {
  CHECK(parsed("label_images") == "- : ");
  CHECK(parsed("train_test_images") == "unclear");
}

}  // namespace packhorse

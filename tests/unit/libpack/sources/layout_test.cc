#include "sources/layout/layout.h"

#include <doctest/doctest.h>

#include "listings.h"
#include "packhorse/base/error.h"
#include "sources/layout/folder_roles.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;

/// Each folder holds an image, except those that end in a slash.
PathTree tree_of(const Names& folders) {
  PathTree tree;
  for (const std::string& folder : folders) {
    if (folder.ends_with('/')) {
      tree.add_other(folder);
    } else {
      tree.add_image(folder + "/1.jpg");
    }
  }
  return tree;
}

Layout layout_of(const Names& folders, const ListOptions& options = {}) {
  return find_layout(tree_of(folders), options, {options.fields, "source"}, "source");
}

/// "split:folder" of each root.
Names roots(const Layout& layout) {
  Names all;
  for (const Layout::Root& root : layout.roots) all.push_back(root.split + ":" + root.folder);
  return all;
}

Kind kind_of(const std::string& name) { return roles_of({name}).front().kind; }

}  // namespace

TEST_CASE("folder roles: splits are told by their words, in any case") {
  for (const char* name :
       {"train", "Train", "TRAINING", "trn", "train2017", "train_256", "trainset", "TrainSet",
        "train_images", "images-train", "Final_Training"}) {
    CAPTURE(name);
    CHECK(split_named(name) == "train");
  }
  for (const char* name : {"val", "Valid", "validation", "validation_set", "dev"})
    CHECK(split_named(name) == "val");
  for (const char* name : {"test", "Testing", "test1", "tst", "testdata"})
    CHECK(split_named(name) == "test");
}

TEST_CASE("folder roles: another word makes a name plain") {
  for (const char* name : {"bullet_train", "test tube", "training shoe", "contest", "valley", "0",
                           "n01440764", "class-0", "data", "mask", "cat", ""}) {
    CAPTURE(name);
    CHECK(kind_of(name) == Kind::kPlain);
  }
}

TEST_CASE("folder roles: another word that two splits share is none") {
  const std::vector<FolderRole> roles =
      roles_of({"seg_pred", "seg_test", "seg_train", "sea_train"});
  CHECK(roles[0].kind == Kind::kBeside);
  CHECK(roles[1].split == "test");
  CHECK(roles[2].split == "train");
  CHECK(roles[3].kind == Kind::kPlain);
}

TEST_CASE("folder roles: parts of datasets are told from classes") {
  for (const char* name : {"images", "JPEGImages", "img", "jpg", "PNG_images"})
    CHECK(kind_of(name) == Kind::kImages);
  for (const char* name : {"labels", "Annotations", "masks", "ground_truth", "ImageSets",
                           "SegmentationClass", "train_labels", "unlabeled", "image_labels"}) {
    CAPTURE(name);
    CHECK(kind_of(name) == Kind::kBeside);
  }
  for (const char* name : {"trainval", "train_val", "train-test", "eval", "holdout"})
    CHECK(kind_of(name) == Kind::kUnclearSplit);
}

TEST_CASE("folder roles: a split may be hinted at by the begin or the end of a word") {
  using Splits = std::set<std::string_view>;
  CHECK(splits_hinted("train_clean") == Splits{"train"});
  CHECK(splits_hinted("MyVal") == Splits{"val"});
  CHECK(splits_hinted("mytrain") == Splits{"train"});
  CHECK(splits_hinted("noisy-evaluation") == Splits{""});
  CHECK(splits_hinted("cat").empty());
  CHECK(splits_hinted("latest-model") == Splits{"test"});
}

TEST_CASE("path tree: folders are those right in one, whatever sorts between them") {
  const PathTree tree = tree_of({"a", "a-b", "a/x", "a/x/y", "b/"});
  CHECK(tree.folders("") == Names{"a", "a-b", "b"});
  CHECK(tree.folders("a") == Names{"x"});
  CHECK(tree.folders("a/x") == Names{"y"});
  CHECK(tree.folders("b").empty());
  CHECK(tree.holds_images("a"));
  CHECK_FALSE(tree.holds_images("b"));
  CHECK_FALSE(tree.holds_images_below("b", FolderTree::Told::kByNameOrBytes));
}

TEST_CASE("layout: class folders, splits and folders around them") {
  CHECK(roots(layout_of({"cat", "dog"})) == Names{":"});
  CHECK(roots(layout_of({"train/cat", "valid/cat"})) == Names{"train:train", "val:valid"});
  CHECK(roots(layout_of({"ds/cat", "ds/dog"})) == Names{":ds"});
  CHECK(roots(layout_of({"ds/Testing/a/x", "ds/Training/a"})) ==
        Names{"test:ds/Testing", "train:ds/Training"});
  CHECK(roots(layout_of({"train/train/cat", "train/train/dog"})) == Names{"train:train/train"});
  CHECK(roots(layout_of({"test/train/cat", "test/val/cat"})) ==
        Names{"train:test/train", "val:test/val"});
}

TEST_CASE("layout: a class of nested folders alone in a split stays a class") {
  CHECK(roots(layout_of({"train/cat/a", "train/cat/b", "train/dog", "val/cat/a"})) ==
        Names{"train:train", "val:val"});
}

TEST_CASE("layout: the order of the splits is not that of their folders") {
  CHECK(roots(layout_of({"aval/x", "ds_test/x", "ds_train/x"})).size() == 1);
  CHECK(roots(layout_of({"a_train/x", "a_val/x", "train_data/"})).size() == 1);
  CHECK(roots(layout_of({"Validation/x", "Train/x", "TEST/x"})) ==
        Names{"test:TEST", "train:Train", "val:Validation"});
}

TEST_CASE("layout: a class list says what is meant") {
  CHECK(roots(layout_of({"plane", "train"}, with_classes({"plane", "train"}))) == Names{":"});
  CHECK(layout_of({"plane", "train"}, with_classes({"plane", "train"})).doubts.empty());
  CHECK(roots(layout_of({"train/plane", "train/train", "val/train"},
                        with_classes({"plane", "train"}))) == Names{"train:train", "val:val"});
  CHECK(roots(layout_of({"cat/cat", "cat/dog"}, with_classes({"cat", "dog"}))) == Names{":cat"});
}

TEST_CASE("layout: what folders are cannot always be told") {
  for (const Names& folders :
       {Names{"train", "val"}, Names{"train/a", "val/a", "valid/a"}, Names{"train/a", "other"},
        Names{"train/a", "test"}, Names{"plane", "train"}}) {
    const Layout layout = layout_of(folders);
    REQUIRE(layout.doubts.size() == 1);
    CHECK(layout.doubts.front().kind == Doubt::Kind::kLayout);
    CHECK_FALSE(layout.doubts.front().advice.empty());
  }
}

TEST_CASE("layout: a path belongs to the root it lies in") {
  const Layout layout = layout_of({"ds/train/cat", "ds/val/cat"});
  std::string_view below;
  REQUIRE(layout.root_of("ds/val/cat/1.jpg", below) != nullptr);
  CHECK(below == "cat/1.jpg");
  CHECK(layout.root_of("ds/valx/cat/1.jpg", below) == nullptr);
  CHECK(layout.root_of("ds/README", below) == nullptr);
  CHECK(layout.is_root("ds/train"));
  CHECK_FALSE(layout.is_root("ds"));
}

TEST_CASE("layout: split folders that are said are taken, and no others") {
  ListOptions options;
  options.split_folders = parse_split_folders("val=b,train=a/deep/");
  CHECK(roots(layout_of({"a/deep/x", "b/x", "test/x"}, options)) == Names{"train:a/deep", "val:b"});
  CHECK(test::kind_of_error([&] { layout_of({"a/x"}, options); }) == ErrorKind::kUsage);
  options.split_folders = parse_split_folders("none");
  CHECK(roots(layout_of({"train", "val"}, options)) == Names{":"});
}

}  // namespace packhorse

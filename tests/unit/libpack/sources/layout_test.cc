#include "sources/layout/layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/option.h"
#include "listing/names.h"
#include "listings.h"
#include "packhorse/base/error.h"
#include "sources/layout/folder_roles.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Kind = FolderRole::Kind;

/// What a source holds, by the paths of its images, and of its folders where they end in a slash.
SourceContents contents_of(const Names& paths) {
  SourceContents contents;
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const auto [folder, name] = naming::directory_and_name(path);
    folders.emplace(folder);
    if (!name.empty()) contents.images.add(folder, name, {.size = 1});
  }
  contents.images.sort_by_path();
  contents.folders.assign(folders.begin(), folders.end());
  return contents;
}

/// Readings name options as they are typed.
class AsTyped {
 public:
  AsTyped() {
    static constexpr OptionSpelling kTyped = {
        [](std::string_view name, std::string_view value) {
          std::string text = "--" + std::string(name);
          std::replace(text.begin(), text.end(), '_', '-');
          return value.empty() ? text : text + " " + naming::shell_word(std::string(value));
        },
        [](const CommandCall& command) { return command.command; }};
    spell_options(&kTyped);
  }
  ~AsTyped() { spell_options(nullptr); }
};

Layout layout_with(const Names& paths, const ListOptions& options = {}) {
  const AsTyped as_typed;
  return find_layout(contents_of(paths), {options.fields, "source"}, options, "source");
}

/// Each folder holds two images of its own names, except those that end in a slash.
Names images_in(const Names& folders) {
  Names paths;
  for (const std::string& folder : folders) {
    std::string name = folder;
    std::replace(name.begin(), name.end(), '/', '-');
    if (folder.ends_with('/')) paths.push_back(folder);
    if (folder.ends_with('/')) continue;
    paths.push_back(folder + '/' + name + "1.jpg");
    paths.push_back(folder + '/' + name + "2.jpg");
  }
  return paths;
}

Layout layout_of(const Names& folders, const ListOptions& options = {}) {
  return layout_with(images_in(folders), options);
}

Names classes(const Layout& layout) { return {layout.classes.begin(), layout.classes.end()}; }

std::string advice(const Layout& layout) {
  return layout.doubts.empty() ? std::string() : layout.doubts.front().advice;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
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

TEST_CASE("tree: folders and their images, whatever sorts between them") {
  const SourceContents contents =
      contents_of({"a/1.jpg", "a-b/1.jpg", "a/x/1.jpg", "a/x/2.jpg", "b/"});
  const Tree tree(contents, {});
  CHECK(tree.names_of(tree[Tree::kRoot].inside) == Names{"a", "a-b", "b"});
  CHECK(tree.names_of(tree.holding(Tree::kRoot)) == Names{"a", "a-b"});
  const Tree::Folder& a = tree[tree.find("a").value()];
  CHECK(a.images == 1);
  CHECK(a.below == 3);
  CHECK(tree[tree.find("a/x").value()].depth == 2);
  CHECK_FALSE(tree.find("x").has_value());
}

TEST_CASE("layout: class folders, splits and folders around them have one shape") {
  const auto holds = [](const Names& folders, const Names& wanted, const Names& names) {
    CAPTURE(folders.front());
    const Layout layout = layout_of(folders);
    CHECK(roots(layout) == wanted);
    CHECK(classes(layout) == names);
    CHECK(layout.doubts.empty());
  };
  holds({"cat", "dog"}, {":"}, {"cat", "dog"});
  holds({"0", "1", "10"}, {":"}, {"0", "1", "10"});
  holds({"n01440764", "n01443537"}, {":"}, {"n01440764", "n01443537"});
  holds({"class_0", "class_1"}, {":"}, {"class_0", "class_1"});
  holds({"train/cat", "train/dog", "valid/cat"}, {"train:train", "val:valid"}, {"cat", "dog"});
  holds({"Validation/x", "Train/x", "Train/y", "TEST/y"},
        {"test:TEST", "train:Train", "val:Validation"}, {"x", "y"});
  holds({"ds/cat", "ds/dog"}, {":ds"}, {"cat", "dog"});
  holds({"ds/cat", "ds/dog", "src/", "docs/api/"}, {":ds"}, {"cat", "dog"});
  holds({"a/b/Testing/a", "a/b/Training/a", "a/b/Training/b"},
        {"test:a/b/Testing", "train:a/b/Training"}, {"a", "b"});
  holds({"seg_train/seg_train/cat", "seg_train/seg_train/dog", "seg_test/seg_test/cat"},
        {"test:seg_test/seg_test", "train:seg_train/seg_train"}, {"cat", "dog"});
  holds({"test/train/cat", "test/train/dog", "test/val/cat"}, {"train:test/train", "val:test/val"},
        {"cat", "dog"});
  holds({"train/cat", "train/dog", "annotations/"}, {"train:train"}, {"cat", "dog"});
  holds({"bullet_train", "cat", "test_tube"}, {":"}, {"bullet_train", "cat", "test_tube"});
}

TEST_CASE("layout: what has another shape is doubted, and its readings are told") {
  const auto tells = [](const Names& folders, const Names& readings) {
    const Layout layout = layout_of(folders);
    CAPTURE(folders.front());
    REQUIRE(layout.doubts.size() > 0);
    CAPTURE(advice(layout));
    for (const std::string& one : readings) CHECK_MESSAGE(says(advice(layout), one), one);
  };
  tells({"a/abbey", "a/airport", "b/bar"},
        {"--classes-at 2  packs 6 images of 3 classes, abbey ... bar",
         "--classes-at 1  packs 6 images of 2 classes, a and b"});
  tells({"p1/0", "p1/1", "p2/0", "p2/1", "p3/0"},
        {"--classes-at 2  packs 10 images of 2 classes, 0 and 1"});
  tells(
      {"Dataset/0", "Dataset/1", "Examples"},
      {"the source source/Dataset  packs 4 images of 2 classes, 0 and 1, and leaves out 2 images"});
  tells({"yes", "no", "data/yes", "data/no"}, {"--classes-at 1", "the source source/data"});
  tells({"repo/app/icons", "repo/data/train/cat", "repo/data/train/dog", "repo/data/val/cat"},
        {"--split-folders train=repo/data/train,val=repo/data/val"});
  tells({"fold1/cat", "fold1/dog", "fold2/cat", "fold2/dog"},
        {"--split-folders fold1=fold1,fold2=fold2"});
  tells({"train/cat", "train/dog", "extra"}, {"--split-folders train=train"});
  tells({"train/cat", "train/dog", "val/data/cat", "val/data/dog"}, {"--classes-at 2"});
  tells({"images_part_1", "images_part_2"}, {"--classes-at 1", "--unlabelled"});
  Names beside = images_in({"train/cat", "train/dog"});
  beside.push_back("logo.png");
  CHECK(says(advice(layout_with(beside)),
             "--split-folders train=train  packs 4 images of 2 classes, cat and dog, in train, and "
             "leaves out 1 image"));
  tells({"train", "val"}, {"--unlabelled", "--labels FILE"});
  tells({"cat"}, {"--allow-odd-classes"});
  tells({"cat", "dog", "cow/"}, {"--allow-odd-classes"});
  tells({"plane", "train"}, {"--classes-at 1"});
}

TEST_CASE("layout: folders that are no classes for all their shape are doubted") {
  for (const Names& folders :
       {Names{"fold_0", "fold_1"}, Names{"batch_1", "batch_2", "cat"}, Names{"video0", "video1"},
        Names{"train/a", "val/a", "valid/a"}, Names{"train/a", "train/b", "test"},
        Names{"mytrain", "myval"}, Names{"images", "other"}, Names{"Cat", "cat"},
        Names{"cat", "cat ", "dog"}, Names{"cat", "cat\xe2\x80\x8b"},
        Names{"a b",
              "a\xc2\xa0"
              "b"},
        Names{"subject01_session1", "subject02_session1"}, Names{"2021-05-03", "2021-05-04"},
        Names{"2011_09_26_drive_0001_sync", "2011_09_28_drive_0002_sync"},
        Names{"part_a", "part_b"}, Names{"batch-A", "batch-B", "rest"}, Names{"Part I", "Part II"},
        Names{"caf\xc3\xa9", "cafe\xcc\x81"}, Names{"train/Cat", "train/dog", "val/cat"}}) {
    CAPTURE(folders.front());
    CHECK_FALSE(layout_of(folders).doubts.empty());
  }
}

TEST_CASE("layout: names that differ in a number or a letter may be classes all the same") {
  for (const Names& folders :
       {Names{"Audi S4 2007", "Audi S4 2012", "Acura TL", "BMW M3", "Jeep"}, Names{"A", "B", "C"},
        Names{"n000002", "n000003"}, Names{"00001", "00002"}, Names{"class_a", "class_b"},
        Names{"m.0abc", "m.0abd"}, Names{"hepatitis_b", "flu", "cold"}}) {
    CAPTURE(folders.front());
    CHECK(layout_of(folders).doubts.empty());
  }
}

TEST_CASE(
    "layout: class folders named by numbers have labels in the order of texts, which is noted") {
  CHECK(says(layout_of({"0", "1", "10", "2"}).notes.at(0), "label 2 is the class '10'"));
  CHECK(layout_of({"0", "1", "2"}).notes.empty());
  CHECK(layout_of({"00", "01", "10"}).notes.empty());
  CHECK(says(layout_of({"3", "4"}).notes.at(0), "label 0 is the class '3'"));
}

TEST_CASE("layout: an archive beside folders of images is read, or left out by name") {
  const auto with_archive = [](const Names& paths, const std::string& archive) {
    SourceContents contents = contents_of(paths);
    contents.others.push_back({archive, naming::kNotAnImage, {}});
    const AsTyped as_typed;
    return find_layout(contents, {}, {}, "source");
  };
  const Names folders = images_in({"a", "b"}), splits = images_in({"train/a", "train/b"});
  CHECK(says(advice(with_archive(folders, "c.tar")),
             "--exclude c.tar  packs 4 images of 2 classes, a and b"));
  CHECK_FALSE(with_archive(splits, "val.zip").doubts.empty());
  CHECK_FALSE(with_archive(splits, "train/c.zip").doubts.empty());
  for (const char* unpacked : {"a.tar", "source.zip"}) {
    const Layout layout = with_archive(folders, unpacked);
    CHECK(layout.doubts.empty());
    CHECK(says(layout.notes.at(0), unpacked));
  }
  CHECK(with_archive(folders, "a/inside.zip").doubts.empty());
}

TEST_CASE("layout: renderings of the same pictures are no classes") {
  CHECK_FALSE(layout_with({"HR/1.png", "HR/2.png", "LR/1.png", "LR/2.png"}).doubts.empty());
  CHECK_FALSE(
      layout_with({"a/1.png", "a/2.png", "depth/1.tif", "depth/2.tif", "c/7.png"}).doubts.empty());
  CHECK(says(advice(layout_with({"HR/1.png", "HR/2.png", "LR/1.png", "LR/2.png"})),
             "--field-from 'hr.png=HR/{stem}.png' --unlabelled"));
  const auto folders = [](const std::string& name) {
    Names paths;
    for (const char* folder : {"a", "b", "c", "d", "e"})
      for (const char* number : {"1", "2", "3"}) paths.push_back(folder + ("/" + name) + number);
    return paths;
  };
  CHECK(layout_with(folders("")).doubts.empty());  // numbered in each class
  Names scenes = folders("scene");
  for (const char* folder : {"a", "b", "c", "d", "e"})
    scenes.push_back(folder + std::string("/scene7"));
  CHECK_FALSE(layout_with(scenes).doubts.empty());
  for (const Names& alike :
       {Names{"HR/1.png", "HR/2.png", "HR/3.png", "LR/1.png", "LR/3.png"},
        Names{"HR/1.png", "HR/2.png", "LR/1x4.png", "LR/2x4.png"},
        Names{"c/1-color.png", "c/2-color.png", "d/1-depth.png", "d/2-depth.png"},
        Names{"a/x.png", "a/y.png", "b/x.png", "b/y.png", "b/z.png", "c/1.png"}}) {
    CAPTURE(alike.back());
    CHECK_FALSE(layout_with(alike).doubts.empty());
  }
  Names many, other;
  for (int i = 0; i < 3000; ++i) {
    many.push_back("a/" + std::to_string(7 * i) + ".png");
    many.push_back("b/" + std::to_string(7 * (i + 1200)) + ".png");
    other.push_back("a/" + std::to_string(7 * i) + ".png");
    other.push_back("b/" + std::to_string(7 * (i + 2000)) + ".png");
  }
  CHECK_FALSE(layout_with(many).doubts.empty());  // of 3,000 names, 1,800 are in both
  CHECK(layout_with(other).doubts.empty());       // 1,000
  // Numbered within their classes, which have unlike numbers of images.
  CHECK(layout_with({"a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/3.png"}).doubts.empty());
}

TEST_CASE("layout: files that belong to the images beside them are no images") {
  const Layout masks = layout_with({"cat/1.jpg", "cat/1_mask.png", "dog/2.jpg", "dog/2_mask.png"});
  REQUIRE_FALSE(masks.doubts.empty());
  CHECK(says(advice(masks),
             "--field-from 'mask.png={dir}/{stem}_mask.png'  packs 2 images of 2 classes"));
  CHECK(says(advice(masks), "--classes-at 1  packs 4 images"));
  const Layout renamed = layout_with({"cat/1.jpg", "cat/1.png", "dog/2.jpg", "dog/2.png"});
  CHECK(says(advice(renamed), "--field-from 'mask.png={dir}/{stem}.png'"));
  const Layout split = layout_with({"train/cat/1.jpg", "train/cat/1-seg.png", "train/dog/2.jpg",
                                    "train/dog/2-seg.png", "val/cat/3.jpg", "val/cat/3-seg.png"});
  CHECK(says(advice(split), "--field-from 'mask.png={split}/{dir}/{stem}-seg.png'"));
  const auto leaves_out = [](const Names& paths, const std::string& reading) {
    CAPTURE(paths.front());
    CHECK(says(advice(layout_with(paths)), reading + "  packs 2 images of 2 classes, a and b"));
  };
  leaves_out({"a/1_image.png", "a/1_mask.png", "b/2_image.png", "b/2_mask.png"},
             "--exclude '*_mask.png'");
  leaves_out({"a/1.png", "a/mask_1.png", "b/2.png", "b/mask_2.png"},
             "--field-from 'mask.png={dir}/mask_{stem}.png'");
  leaves_out({"a/1.png", "a/1 (mask).png", "b/2.png", "b/2 (mask).png"},
             "--field-from 'mask.png={dir}/{stem} (mask).png'");
  leaves_out({"a/1.png", "a/1GT.png", "b/2.png", "b/2GT.png"},
             "--field-from 'mask.png={dir}/{stem}GT.png'");
  // Several pictures of one thing.
  CHECK(layout_with({"a/1_left.png", "a/1_right.png", "a/2_left.png", "a/2_right.png", "b/3.png"})
            .doubts.empty());
  CHECK(layout_with({"a/1.png", "a/1b.png", "a/2.png", "a/2b.png", "b/3.png"}).doubts.empty());
  // Names that only look like it.
  CHECK(layout_with({"cat/a_1.jpg", "cat/a_2.jpg", "cat/a.jpg", "dog/b.jpg", "dog/b (1).jpg"})
            .doubts.empty());
}

TEST_CASE("layout: --classes-at says where the classes are, and settles all doubts") {
  ListOptions options;
  options.classes_at = 2;
  const Layout letters = layout_of({"a/abbey", "a/airport", "b/abbey"}, options);
  CHECK(classes(letters) == Names{"abbey", "airport"});
  CHECK(letters.doubts.empty());
  CHECK(letters.roots.front().class_of("a/abbey/deep/1.jpg") == "abbey");
  CHECK(letters.roots.front().class_of("a/1.jpg").empty());
  const Layout splits = layout_of({"train/x/cat", "train/y/dog", "val/x/cat"}, options);
  CHECK(roots(splits) == Names{"train:train", "val:val"});
  CHECK(classes(splits) == Names{"x", "y"});
  options.classes_at = 1;
  CHECK(classes(layout_of({"train/x", "val/x"}, options)) == Names{"train", "val"});
  CHECK(classes(layout_of({"cat"}, options)) == Names{"cat"});
}

TEST_CASE("layout: what is told can be typed") {
  CHECK(naming::shell_word("a/b-1.0,c=d") == "a/b-1.0,c=d");
  CHECK(naming::shell_word("x={dir}/{stem}") == "'x={dir}/{stem}'");
  CHECK(naming::shell_word("it's") == "'it'\\''s'");
  CHECK(naming::shell_word("caf\xe9's") == "$'caf\\xe9\\'s'");
  CHECK(says(advice(layout_of({"my train/cat", "my train/dog", "my val/cat", "more"})),
             "--split-folders 'train=my train,val=my val'  packs"));
}

TEST_CASE("layout: a class list says what is meant") {
  CHECK(roots(layout_of({"plane", "train"}, with_classes({"plane", "train"}))) == Names{":"});
  CHECK(layout_of({"plane", "train"}, with_classes({"plane", "train"})).doubts.empty());
  CHECK(roots(layout_of({"train/plane", "train/train", "val/train"},
                        with_classes({"plane", "train"}))) == Names{"train:train", "val:val"});
  CHECK(roots(layout_of({"cat/cat", "cat/dog"}, with_classes({"cat", "dog"}))) == Names{":cat"});
}

TEST_CASE("layout: a path belongs to the root it lies in") {
  const Layout layout = layout_of({"ds/train/cat", "ds/train/dog", "ds/val/cat"});
  std::string_view below;
  REQUIRE(layout.root_of("ds/val/cat/1.jpg", below) != nullptr);
  CHECK(below == "cat/1.jpg");
  CHECK(layout.root_of("ds/valx/cat/1.jpg", below) == nullptr);
  CHECK(layout.root_of("ds/README", below) == nullptr);
}

TEST_CASE("layout: split folders that are said are taken, and no others") {
  ListOptions options;
  options.split_folders = parse_split_folders("val=b,train=a/deep/");
  CHECK(roots(layout_of({"a/deep/x", "b/x", "test/x"}, options)) == Names{"train:a/deep", "val:b"});
  CHECK(test::kind_of_error([&] { layout_of({"a/x"}, options); }) == ErrorKind::kUsage);
  options.split_folders = parse_split_folders("none");
  CHECK(roots(layout_of({"train", "val"}, options)) == Names{":"});
}

TEST_CASE("layout: what is left out is as if it were not there") {
  SourceContents contents = contents_of({"a/1.jpg", "a/2.jpg", "b/3.jpg", "c/4.jpg", "stray.jpg"});
  leave_out(contents, {"stray*", "c/*"});
  const Layout layout = find_layout(contents, {}, {}, "source");
  CHECK(classes(layout) == Names{"a", "b"});
  CHECK(layout.doubts.empty());
  CHECK(contents.others.size() == 2);
}

}  // namespace packhorse

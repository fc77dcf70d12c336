#include "packhorse/reader/dataset_views.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "unit/reader/order/classes.h"
#include "unit/reader/order/samples.h"

namespace packhorse::reader::test {

namespace {

/// Samples with paths, sizes and bytes of their own.
class Named final : public MemoryDataset {
 public:
  Named(std::vector<std::string> classes, std::vector<std::string> paths)
      : MemoryDataset({}), classes_(std::move(classes)), paths_(std::move(paths)) {
    for (std::size_t i = 0; i < paths_.size(); ++i)
      contents().push_back(File(i + 1, static_cast<std::byte>(paths_[i].size())));
    on_image = [](std::size_t i) {
      return ImageInfo{ImageKind::kJpeg, 3, 8, 1, static_cast<std::uint32_t>(10 * i), 35};
    };
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override {
    const std::string name = paths_[i].substr(0, paths_[i].find('/'));
    return std::ranges::find(classes_, name) - classes_.begin();
  }
  std::string source_path(std::size_t i) const override { return paths_[i]; }
  std::string name(std::size_t i) const override { return "key" + std::to_string(i); }
  std::size_t file_of(std::size_t i) const override { return i / 2; }
  std::vector<std::filesystem::path> files() const override { return {"a", "b", "c"}; }
  const std::vector<TargetRecord>& targets() const override { return targets_; }
  const std::vector<std::string>& fields() const override { return fields_; }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    out = File(i, static_cast<std::byte>(field));
    return true;
  }
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    asked.assign(samples.begin(), samples.end());
    return samples.size();
  }
  std::string id() const override { return "named " + classes_.front(); }

  std::vector<TargetRecord> targets_;
  std::vector<std::string> fields_;
  mutable Samples asked;

 private:
  std::vector<std::string> classes_, paths_;
};

std::shared_ptr<Named> pets() {
  return std::make_shared<Named>(std::vector<std::string>{"cat", "dog"},
                                 std::vector<std::string>{"cat/1.jpg", "dog/2.jpg", "cat/3.png",
                                                          "dog/sub/4.jpg", "cat/5.jpg"});
}

std::shared_ptr<Named> others() {
  return std::make_shared<Named>(std::vector<std::string>{"bird", "cat"},
                                 std::vector<std::string>{"bird/9.jpg", "cat/1.jpg"});
}

std::vector<std::byte> bytes_of(const Dataset& dataset, std::size_t i) {
  std::vector<std::byte> bytes;
  dataset.read(i, bytes);
  return bytes;
}

Samples parts_of(const Dataset& dataset, Fold fold) {
  fold.held_out = true;
  return choose(dataset, {.fold = fold});
}

}  // namespace

TEST_CASE("subset: its samples are those of the dataset, as often as they are named") {
  const auto all = pets();
  const auto part = subset(all, {4, 0, 4});
  CHECK(part->size() == 3);
  for (const auto& [i, of] : {std::pair(0u, 4u), std::pair(1u, 0u), std::pair(2u, 4u)}) {
    CHECK(part->label(i) == all->label(of));
    CHECK(part->bytes(i) == of + 1);
    CHECK(part->image(i).width == 10 * of);
    CHECK(bytes_of(*part, i) == bytes_of(*all, of));
    CHECK(part->source_path(i) == all->source_path(of));
    CHECK(part->name(i) == all->name(of));
    CHECK(part->describe(i) == all->describe(of));
    CHECK(part->file_of(i) == of / 2);
  }
  CHECK(part->prefetch(Samples{0, 1, 2}) == 3);
  CHECK(all->asked == Samples{0, 4, 4});
  CHECK(part->id() != all->id());
  CHECK(part->id() != subset(all, {4, 0})->id());
  CHECK(part->id() == subset(pets(), {4, 0, 4})->id());
  CHECK_THROWS_WITH_AS(part->label(3), "sample 3 of 3", Error);
}

TEST_CASE("subset: no samples, and samples that are not there, are refused") {
  CHECK_THROWS_WITH_AS(subset(pets(), {}), "the subset has no samples", Error);
  CHECK_THROWS_WITH_AS(subset(pets(), {2, 5}), "there is no sample 5: the dataset has 5", Error);
}

TEST_CASE("subset: a dataset of many files has their share of the bytes") {
  struct ManyFiles final : MemoryDataset {
    ManyFiles() : MemoryDataset(std::vector<File>(20, File(10))) {}
    std::size_t file_of(std::size_t i) const override { return i / 10; }
    std::vector<Extent> extents() const override { return {{10, 100}, {10, 500}}; }
  };
  const auto extents = subset(std::make_shared<ManyFiles>(), {3, 4, 12, 19, 18, 1})->extents();
  REQUIRE(extents.size() == 3);
  CHECK(extents[0].samples == 2);
  CHECK(extents[0].bytes == 20);
  CHECK(extents[1].samples == 3);
  CHECK(extents[1].bytes == 150);
  CHECK(extents[2].samples == 1);
}

TEST_CASE("concat: one member after the other, classes of one name joined") {
  const auto a = pets();
  const auto b = others();
  const auto both = concat({a, b});
  CHECK(both->size() == 7);
  CHECK(both->classes() == std::vector<std::string>{"cat", "dog", "bird"});
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < 7; ++i) {
    labels.push_back(both->label(i));
    const MemberSample of = member_sample(*both, i);
    CHECK(of == (i < 5 ? MemberSample{0, i} : MemberSample{1, i - 5}));
    CHECK(bytes_of(*both, i) == bytes_of(*both->members()[of.member], of.sample));
  }
  const auto part = subset(subset(both, {6, 4, 5, 0}), {2, 1, 0});
  CHECK(member_sample(*part, 0) == MemberSample{1, 0});
  CHECK(member_sample(*part, 1) == MemberSample{0, 4});
  CHECK(member_sample(*part, 2) == MemberSample{1, 1});
  CHECK(labels == std::vector<std::int64_t>{0, 1, 0, 1, 0, 2, 0});
  CHECK(both->file_of(4) == 2);
  CHECK(both->file_of(5) == 3);
  CHECK(both->prefetch(Samples{1, 4, 6}) == 3);
  CHECK(a->asked == Samples{1, 4});
  CHECK(b->asked == Samples{1});
  CHECK(both->id() == concat({pets(), others()})->id());
  CHECK(both->id() != concat({others(), pets()})->id());
  CHECK_THROWS_WITH_AS(both->label(7), "sample 7 of 7", Error);
  CHECK_THROWS_AS(concat({}), Error);
}

TEST_CASE("concat: classes kept apart have their member's number") {
  const auto both = concat({pets(), others()}, ClassNames::kApart);
  CHECK(both->classes() == std::vector<std::string>{"0/cat", "0/dog", "1/bird", "1/cat"});
  CHECK(both->label(6) == 3);
  CHECK(both->id() != concat({pets(), others()})->id());
}

TEST_CASE("concat: fields are those of all, each where its member has it") {
  const auto a = pets();
  a->fields_ = {"json", "score"};
  const auto b = others();
  b->fields_ = {"caption", "score"};
  const auto both = concat({a, b});
  CHECK(both->fields() == std::vector<std::string>{"caption", "json", "score"});
  std::vector<std::byte> out;
  CHECK(!both->read_field(3, 0, out));
  CHECK(both->read_field(3, 2, out));
  CHECK(out == File(3, std::byte{1}));
  CHECK(!both->read_field(6, 1, out));
  CHECK(both->read_field(6, 0, out));
  CHECK(out == File(1, std::byte{0}));
}

TEST_CASE("concat: members of unlike targets are refused by name") {
  const auto a = pets();
  a->targets_ = {{.name = "objects", .kind = "objects", .classes = {"wheel"}}};
  CHECK_THROWS_WITH_AS(concat({a, others()}),
                       "the datasets have unlike targets: dataset 0 has objects (objects, 1 "
                       "classes, 0 keypoints), dataset 1 has no targets",
                       Error);
  const auto b = others();
  b->targets_ = a->targets_;
  b->targets_.front().head = "{}";  // what else a file said does not count
  CHECK(concat({a, b})->targets() == a->targets_);
  b->targets_.front().classes = {"door"};
  CHECK_THROWS_AS(concat({a, b}), Error);
}

TEST_CASE("choose: by class, key, path and size, and all that is asked together") {
  const auto all = pets();
  CHECK(choose(*all, {.classes = {"dog"}}) == Samples{1, 3});
  CHECK(choose(*all, {.classes = {"dog", "cat"}}) == up_to(5));
  CHECK(choose(*all, {.keys = "key[13]"}) == Samples{1, 3});
  CHECK(choose(*all, {.paths = "*.jpg"}) == Samples{0, 1, 3, 4});
  CHECK(choose(*all, {.paths = "dog/sub/*"}) == Samples{3});
  CHECK(choose(*all, {.min_side = 30}) == Samples{3, 4});
  CHECK(choose(*all, {.min_side = 35}) == Samples{4});
  CHECK(choose(*all, {.classes = {"cat"}, .min_side = 30}) == Samples{4});
  CHECK_THROWS_WITH_AS(choose(*all, {.classes = {"cot"}}), "there is no class 'cot'", Error);
  CHECK_THROWS_WITH_AS(choose(*all, {.min_side = 36}), "no sample is chosen: the subset is empty",
                       Error);
  CHECK_THROWS_AS(choose(*make_dataset(2), {.min_side = 1}), Error);
  CHECK_THROWS_AS(choose(*make_dataset(2), {.paths = "*"}), Error);
}

TEST_CASE("choose: the parts of a fold cover the dataset once, in any order of packing") {
  const auto named = [](bool turned) {
    std::vector<std::string> paths;
    for (int i = 0; i < 600; ++i)
      paths.push_back((i % 10 == 0 ? "dog/" : "cat/") + std::to_string(i) + ".jpg");
    if (turned) std::ranges::reverse(paths);
    return std::make_shared<Named>(std::vector<std::string>{"cat", "dog"}, paths);
  };
  const auto all = named(false), turned = named(true);
  for (const bool stratified : {false, true}) {
    std::multiset<std::uint64_t> covered;
    int uneven = 0;
    for (std::uint64_t part = 0; part < 5; ++part) {
      const Fold fold{.parts = 5, .part = part, .stratified = stratified};
      const Samples held = parts_of(*all, fold);
      const Samples rest = choose(*all, {.fold = fold});
      CHECK(held.size() + rest.size() == 600);
      covered.insert(held.begin(), held.end());
      std::set<std::string> paths, paths_turned;
      for (const std::uint64_t i : held) paths.insert(all->source_path(i));
      for (const std::uint64_t i : parts_of(*turned, fold))
        paths_turned.insert(turned->source_path(i));
      CHECK(paths == paths_turned);
      const auto dogs = std::ranges::count_if(
          paths, [](const std::string& path) { return path.starts_with("dog"); });
      uneven += dogs == 12 ? 0 : 1;
      CHECK(std::abs(static_cast<int>(held.size()) - 120) < (stratified ? 2 : 40));
    }
    CHECK((uneven == 0) == stratified);
    CHECK(covered.size() == 600);
    CHECK(std::set(covered.begin(), covered.end()).size() == 600);
  }
  CHECK_THROWS_WITH_AS(choose(*all, {.fold = Fold{1, 0}}), "a fold has 2 parts or more", Error);
  CHECK_THROWS_WITH_AS(choose(*all, {.fold = Fold{5, 5}}), "there is no part 5 of 5", Error);
}

}  // namespace packhorse::reader::test

#include "loader/loader_table.h"

#include <set>

#include "packhorse/reader/loader.h"
#include "support/support.h"

namespace packhorse::reader {

namespace {

LoaderOptions with(const GivenOptions& given) {
  LoaderOptions options;
  set_given(options, loader_options(), given);
  return options;
}

ErrorKind kind_with(const GivenOptions& given) {
  return test::kind_of_error([&] { with(given); });
}

}  // namespace

TEST_CASE("loader table: what is given shows in the text of its row, and in no other's name") {
  const GivenOptions given = {{"batch_size", {"7"}},
                              {"order", {"window"}},
                              {"seed", {"9"}},
                              {"drop_last", {}},
                              {"workers", {"0"}},
                              {"slots", {"2"}},
                              {"rank", {"1"}},
                              {"world_size", {"3"}},
                              {"max_bad", {"1%"}},
                              {"huge_pages", {}},
                              {"dtype", {"float16"}},
                              {"mean", {"0.5,0.25"}},
                              {"std", {"1,2"}},
                              {"channels_last", {}},
                              {"bands", {"3,0"}},
                              {"mixed_bits", {}},
                              {"close_mosaic_from", {"4"}},
                              {"mixup", {"0.2"}},
                              {"cutmix", {"1"}},
                              {"mix_prob", {"0.5"}},
                              {"switch_prob", {"0.25"}},
                              {"label_smoothing", {"0.1"}}};
  const LoaderOptions options = with(given);
  std::set<std::string_view> names;
  for (const LoaderOption& row : loader_options()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    const auto found = given.find(row.name);
    if (found != given.end())
      CHECK(row.text(options) == (row.is_flag() ? "given" : found->second.front()));
  }
  CHECK(with({{"fields", {"a", "b.npy"}}}).fields == std::vector<std::string>{"a", "b.npy"});
  CHECK(options.format.mean == std::vector<float>{0.5F, 0.25F});
  CHECK(options.bands->numbers == std::vector{3, 0});
  CHECK(options.bands->mixed_bits);
  CHECK(with({{"shuffle", {}}}).order == OrderKind::kSequential);
}

TEST_CASE("loader table: 16 bits are those of all bands, unless some are named") {
  CHECK(with({{"dtype", {"uint16"}}}).bands->numbers.empty());
  CHECK(with({{"dtype", {"uint16"}}, {"bands", {"2"}}}).bands->numbers == std::vector{2});
  CHECK(with({{"bands", {"all"}}}).bands->numbers.empty());
  CHECK_FALSE(with({{"dtype", {"float32"}}}).bands);
}

TEST_CASE("loader table: values that are none, and options that exclude each other, are refused") {
  for (const char* const text : {"0", "-1", "1048577", "x"})
    CHECK(kind_with({{"batch_size", {text}}}) == ErrorKind::kUsage);
  for (const char* const text : {"-2", "1025"})
    CHECK(kind_with({{"workers", {text}}}) == ErrorKind::kUsage);
  for (const char* const text : {"", "none", "1.5", "255", "-1", "1,,2", "1,"})
    CHECK(kind_with({{"bands", {text}}}) == ErrorKind::kUsage);
  CHECK(kind_with({{"order", {"any"}}}) == ErrorKind::kUsage);
  CHECK(kind_with({{"mean", {"0.5;1"}}}) == ErrorKind::kUsage);
  CHECK(kind_with({{"mixed_bits", {}}}) == ErrorKind::kUsage);
  CHECK(kind_with({{"order", {"global"}}, {"shuffle", {}}}) == ErrorKind::kUsage);
}

TEST_CASE("loader table: a struct filled by hand has the ranges of its rows") {
  const auto refused = [](const LoaderOptions& options) {
    return test::kind_of_error([&] { options.validate(); }) == ErrorKind::kUsage;
  };
  CHECK(refused({.batch_size = 0}));
  CHECK(refused({.workers = -2}));
  CHECK(refused({.slots = 1}));
  CHECK(refused({.mix = {.mixup_alpha = -1}}));
  CHECK(refused({.mix = {.mixup_alpha = 1, .cutmix_share = .2}}));  // there is nothing to choose
  CHECK(refused({.mix = {.probability = .5}}));
  CHECK(refused({.label_smoothing = .1}));
  CHECK(refused({.mix = {.cutmix_alpha = 1}, .label_smoothing = 1}));
  CHECK(refused({.targets = TargetRules{}, .mix = {.cutmix_alpha = 1}}));
  CHECK(refused({.augment = DetectionAugment{}, .mix = {.cutmix_alpha = 1}}));
  CHECK(refused({.bands = BandOptions{.mixed_bits = true}, .mix = {.cutmix_alpha = 1}}));
  CHECK(refused({.mix = {.cutmix_alpha = 1}, .encoded_share = .5}));
  CHECK(refused({.sample_hook = [](const DecodedSample&) {}, .encoded_share = .5}));
  LoaderOptions().validate();
}

}  // namespace packhorse::reader

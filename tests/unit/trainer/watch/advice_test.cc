#include "watch/advice.h"

#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// An epoch of 100 s with 1,000 images; times of all reader threads together.
struct Case {
  const char* what;
  std::optional<Remedy> remedy;
  const char* said;
  double wait_share;
  int workers, cpus;
  bool folder;
  const char* mode;
  std::uint64_t read_s, decode_s, slot_wait_s, image_kb;
  bool gpu_decode = false;
};

LoadFacts facts_of(const Case& c) {
  LoadFacts facts{.seconds = 100,
                  .data_wait_share = c.wait_share,
                  .workers = c.workers,
                  .cpus = c.cpus,
                  .one_file_a_sample = c.folder,
                  .image_mode = c.mode,
                  .gpu_decode_offered = c.gpu_decode};
  facts.counters.samples = 1000;
  facts.counters.bytes = 1000 * c.image_kb * 1000;
  facts.counters.read_ns = c.read_s * kSecond;
  facts.counters.decode_ns = c.decode_s * kSecond;
  facts.counters.slot_wait_ns = c.slot_wait_s * kSecond;
  return facts;
}

// clang-format off
const Case kCases[] = {
    {"5 % is fine", std::nullopt, "", 0.05, 4, 4, false, "original", 10, 300, 0, 100},
    {"no workers", Remedy::kWorkers, "`workers=-1`", 0.6, 0, 4, false, "original", 5, 50, 0, 100},
    {"few workers", Remedy::kWorkers, "use `workers=16`", 0.3, 4, 16, false, "original", 10, 390, 0, 100},
    {"a slow folder", Remedy::kPack, "packhorse pack", 0.3, 4, 4, true, "original", 300, 100, 0, 100},
    {"a folder that decodes", Remedy::kSmallerImages, "`image=roi`", 0.3, 4, 4, true, "original", 50, 350, 0, 100},
    {"slow storage", Remedy::kStorage, "faster storage", 0.2, 8, 4, false, "original", 300, 100, 0, 100},
    {"slow storage, few workers", Remedy::kStorage, "`order=window`", 0.2, 2, 4, false, "roi", 150, 50, 0, 100},
    {"large raw pixels", Remedy::kFewerBytes, "instead of raw", 0.2, 4, 4, false, "raw", 300, 90, 0, 190},
    {"decoding whole photos", Remedy::kSmallerImages, "`image=roi`", 0.4, 4, 4, false, "original", 10, 390, 0, 110},
    {"decoding roi", Remedy::kSmallerImages, "`image=resize`", 0.4, 4, 4, false, "roi", 10, 390, 0, 110},
    {"decoding on a GPU's machine", Remedy::kGpuDecode, "`gpu_decode=auto`", 0.4, 4, 4, false, "original", 10, 390, 0, 110, true},
    {"decoding small pictures", Remedy::kCpus, "more CPUs", 0.4, 4, 4, false, "original", 10, 390, 0, 2},
    {"decoding resized pictures", Remedy::kCpus, "`image_size=`", 0.4, 4, 4, false, "resize", 10, 390, 0, 20},
    {"idle workers", Remedy::kLongerEpochs, "first batches", 0.2, 4, 4, false, "original", 10, 90, 300, 110},
};
// clang-format on

}  // namespace

TEST_CASE("advice: each picture of the counters has its remedy, said in one sentence") {
  for (const Case& c : kCases) {
    CAPTURE(c.what);
    const auto advice = advise(facts_of(c));
    REQUIRE(advice.has_value() == c.remedy.has_value());
    if (!advice) continue;
    CHECK(advice->remedy == *c.remedy);
    CHECK_MESSAGE(advice->sentence.find(c.said) != std::string::npos, advice->sentence);
    CHECK(advice->sentence.starts_with("training waits for data "));
    CHECK(advice->sentence.find('\n') == std::string::npos);
  }
}

TEST_CASE("advice: slow reading from afar speaks of the cache, and not of other disks") {
  LoadFacts facts{.seconds = 100, .data_wait_share = 0.5, .workers = 2, .cpus = 2};
  facts.image_mode = "original";
  facts.counters.samples = 1000;
  facts.counters.bytes = 100'000'000;
  facts.counters.read_ns = 180 * kSecond;
  for (const bool afar : {false, true}) {
    facts.from_afar = afar;
    const auto advice = advise(facts);
    REQUIRE(advice);
    CHECK(advice->remedy == Remedy::kStorage);
    CHECK((advice->sentence.find("`cache_size=`") != std::string::npos) == afar);
    CHECK((advice->sentence.find("faster storage") != std::string::npos) == !afar);
  }
}

TEST_CASE("advice: nothing read is nothing to advise on") {
  CHECK_FALSE(advise({.seconds = 10, .data_wait_share = 1}));
}

TEST_CASE("advice: counters of an epoch are what was added in it") {
  reader::LoaderCounters before, after;
  before.samples = 10;
  before.decode_ns = 7;
  after.samples = 25;
  after.decode_ns = 9;
  after.bytes = 3;
  const auto between = counters_between(before, after);
  CHECK(between.samples == 15);
  CHECK(between.decode_ns == 2);
  CHECK(between.bytes == 3);
}

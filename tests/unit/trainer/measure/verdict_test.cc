// What reports say of figures that are made up here.
#include "measure/measure.h"
#include "measure/sweep.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

/// Passes of 100 images with these seconds of computing and of waiting.
std::vector<Pass> passes(std::vector<std::pair<double, double>> repeats) {
  std::vector<Pass> result;
  for (const auto& [compute, wait] : repeats) {
    result.push_back(
        {.images = 100, .seconds = compute + wait, .wait_s = wait, .compute_s = compute});
  }
  return result;
}

/// Passes of 100 images that take this long.
std::vector<Pass> lasting(const std::vector<double>& seconds) {
  std::vector<Pass> result;
  for (const double s : seconds) result.push_back({.images = 100, .seconds = s, .compute_s = s});
  return result;
}

std::vector<Pass> five(double compute, double wait) {
  return passes(std::vector<std::pair<double, double>>(5, {compute, wait}));
}

/// A report about a folder and a packed dataset of 1,000 images each, warm and on simulated
/// storage; the device takes 100 images/s.
SpeedReport made_up(std::vector<std::vector<Pass>> training, const std::string& mode = "original") {
  SpeedReport report;
  report.workers = 2;
  report.conditions = {{}, {Condition::Kind::kSimulated, reader::parse_storage("open=5ms")}};
  for (const char* format : {"folder", "wds"}) {
    MeasuredInput input;
    input.name = input.format = format;
    input.image_mode = input.format == "folder" ? "original" : mode;
    input.samples = 1000;
    report.inputs.push_back(input);
  }
  report.device_limit = passes({{1, 0}, {1, 0}, {1, 0}});
  for (std::size_t at = 0; at < training.size(); ++at)
    report.runs.push_back({.input = at % 2, .condition = at / 2, .training = training[at]});
  report.conditions.resize(training.size() / 2);
  return report;
}

bool says(const std::string& sentence, const std::string& part) {
  CAPTURE(sentence);
  CHECK(sentence.find(part) != std::string::npos);
  return sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "attribute: waiting is preparation as far as it is there warm, and fetching beyond that") {
  const SpeedReport report = made_up(
      {passes({{1.1, 0.2}, {1.1, 0.2}, {1.1, 0.2}}), passes({{1, 0}, {1, 0}, {1, 0}}),
       passes({{1.2, 0.7}, {1.2, 0.9}, {1.2, 0.8}}), passes({{1, 0.1}, {1, 0.1}, {1, 0.1}})});
  const Attribution parts = attribute(report, report.run(1, 0));
  CHECK(parts.epoch_s == doctest::Approx(20));  // the median repeat
  CHECK(parts.device_s == doctest::Approx(10));
  CHECK(parts.sharing_s == doctest::Approx(2));
  CHECK(parts.preparation_s == doctest::Approx(2));
  CHECK(parts.fetch_s == doctest::Approx(6));
  CHECK(parts.other_s == doctest::Approx(0));
}

TEST_CASE("compare: speeds are told apart by five repeats or more that do not overlap") {
  struct Case {
    const char* what;
    std::vector<double> seconds, base;  ///< of a pass
    Told told;
    double ratio;
  };
  for (const Case& c : {
           Case{"twice as fast", {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, Told::kFaster, 2},
           Case{"half as fast", {2, 2, 2, 2, 2}, {1, 1, 1, 1, 1}, Told::kSlower, 0.5},
           Case{"0.86x", {1.16, 1.17, 1.16, 1.15, 1.16}, {1, 1, 1, 1, 1}, Told::kSlower, 1 / 1.16},
           Case{"0.86x, once as fast",
                {1.16, 1.17, 1.16, 1, 1.16},
                {1, 1, 1, 1, 1},
                Told::kNot,
                1 / 1.16},
           Case{"one repeat", {1}, {1.02}, Told::kNot, 1.02},
           Case{"four repeats", {1, 1, 1, 1}, {2, 2, 2, 2}, Told::kNot, 2},
           Case{"five against four", {1, 1, 1, 1, 1}, {2, 2, 2, 2}, Told::kNot, 2},
           Case{"one of five overlaps", {1, 1, 1, 1, 2.5}, {2, 2, 2, 2, 2}, Told::kNot, 2},
           Case{"apart, by 1 %",
                {1, 1, 1, 1, 1},
                {1.01, 1.01, 1.01, 1.01, 1.01},
                Told::kAlike,
                1.01},
           Case{"apart, mostly by 1 %",
                {0.99, 0.99, 0.99, 0.6, 0.5},
                {1, 1, 1, 1, 1},
                Told::kNot,
                1 / 0.99},
           Case{"all within 1 %", {1, 1.01, 1, 1.005, 1}, {1.005, 1, 1.01, 1, 1}, Told::kAlike, 1},
           Case{"the same", {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, Told::kAlike, 1},
           Case{"as wide as 2 %", {1, 1.03, 1, 1, 1}, {1, 1, 1, 1.03, 1}, Told::kNot, 1},
           Case{"nothing", {}, {1, 1, 1, 1, 1}, Told::kNot, 0},
       }) {
    CAPTURE(c.what);
    const Comparison speed = compare(lasting(c.seconds), lasting(c.base));
    CHECK(speed.told == c.told);
    CHECK(speed.ratio == doctest::Approx(c.ratio));
    CHECK(speed.least <= speed.ratio);
    CHECK(speed.most >= speed.ratio);
  }
}

TEST_CASE("verdict: says of packing what the repeats tell, and no more") {
  struct Case {
    std::vector<double> folder, packed;
    const char* said;
    const char* never;
  };
  for (const Case& c : {
           Case{{2, 2, 2, 2, 2},
                {1, 1, 1, 1, 1},
                "packing gains 2.00x (wds: 100 images/s instead of 50)",
                "lose"},
           Case{{1, 1, 1, 1, 1},
                {1.16, 1.17, 1.16, 1.15, 1.16},
                "packing loses: wds, the fastest, makes 0.86x",
                "gain"},
           Case{{1, 1, 1, 1, 1},
                {1.16, 1.25, 1.16, 0.98, 1.16},
                "packing makes no measurable difference (wds, the fastest, makes 0.86x, and "
                "anything from 0.80x to 1.02x by single repeats)",
                "gain"},
           Case{{1.02},
                {1},
                "packing makes no measurable difference (wds, the fastest, makes 1.02x, in 1 "
                "repeat where 5 are needed)",
                "gain"},
           Case{{4, 4, 4, 4}, {1, 1, 1, 1}, "makes 4.00x, in 4 repeats where 5 are needed", "gain"},
           Case{{1.01, 1.01, 1.01, 1.01, 1.01},
                {1, 1, 1, 1, 1},
                "packing makes no difference of 2 % (wds, the fastest, makes 1.01x)",
                "gain"},
       }) {
    CAPTURE(c.said);
    const std::string sentence = verdict(made_up({lasting(c.folder), lasting(c.packed)}))[0];
    says(sentence, c.said);
    CHECK(sentence.find(c.never) == std::string::npos);
    CHECK(sentence.find("slower than the folder") == std::string::npos);  // said once
  }
}

TEST_CASE("verdict: an input that is surely faster comes before one that only may be") {
  SpeedReport report = made_up({lasting({2, 2, 2, 2, 2}), lasting({0.9, 0.9, 0.9, 3, 3})});
  MeasuredInput sure = report.inputs.back();
  sure.name = sure.format = "lmdb";
  report.inputs.push_back(sure);
  report.runs.push_back({.input = 2, .condition = 0, .training = lasting({1, 1, 1, 1, 1})});
  const auto sentences = verdict(report);
  says(sentences[0], "packing gains 2.00x (lmdb: 100 images/s instead of 50)");
}

TEST_CASE("verdict: what few repeats or a busy machine say of the limit is doubted") {
  SpeedReport report = made_up({passes({{1, 1}}), passes({{1, 0}})});
  says(verdict(report)[0],
       "From the page cache: decoding seems to be the limit: 50 % of the folder's epoch is waiting "
       "for it (by 1 repeat, where 5 are needed)");
  report = made_up({five(1, 1), five(1, 0)});
  for (MeasuredRun& run : report.runs)
    for (Pass& pass : run.training) pass.load = {.cpus = 2, .foreign_cpus = 1.86};
  says(verdict(report)[0], "is waiting for it (others kept 93 % of the CPUs busy)");
  for (MeasuredRun& run : report.runs)
    for (Pass& pass : run.training) pass.load.foreign_cpus = 0.05;
  says(verdict(report)[0], "decoding is the limit: 50 % of the folder's epoch is waiting for it;");
}

TEST_CASE("verdict: a device that never waits is the limit") {
  const auto sentences = verdict(made_up({five(1, 0.004), five(1, 0.001)}));
  REQUIRE(sentences.size() == 2);
  says(sentences[0], "From the page cache: the device is the limit");
  says(sentences[1], "`image=resize`");
}

TEST_CASE("I/O speedup: of what was packed as it is, storage first, as far as it is told") {
  SpeedReport report = made_up({five(1, 0), five(1, 0), five(1, 4), five(1, 0)});
  for (MeasuredRun& run : report.runs) run.read = run.decode = run.training;
  report.runs[2].read = lasting({20});
  report.runs[3].read = lasting({1});
  const auto lines = io_speedups(report);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "I/O speedup from simulated open=5ms: training 5.00x, read + decode 5.00x, read 20.00x (no "
        "measurable difference) (wds against the folder)");
  CHECK(lines[1] ==
        "I/O speedup from the page cache: training 1.00x, read + decode 1.00x, read 1.00x (wds "
        "against the folder)");
  for (const char* mode : {"roi", "resize", "raw"}) {
    report.inputs[1].image_mode = mode;
    says(io_speedups(report)[0], "not measured: nothing was packed as it is");
  }
  report.runs[2].training.clear();
  report.runs[2].not_measured = "it stays in memory";
  says(io_speedups(report)[0], "not measured: it stays in memory");
}

TEST_CASE("verdict: names the CPUs that others used, where they used some") {
  struct Case {
    std::vector<std::optional<double>> foreign;  ///< pass by pass
    const char* said;
  };
  for (const Case& c :
       {Case{{std::nullopt, std::nullopt}, ""}, Case{{0, 0.1}, ""}, Case{{0.1, 0.5}, "kept 0.3 of"},
        Case{{0, 0, 0, 0, 0.1, 0.6},
             "the 2 CPUs busy while this was measured, up to 0.6 in a pass"},
        Case{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5}, ""}, Case{{1.9}, "1.9 of the 2 CPUs"}}) {
    SpeedReport report = made_up({five(1, 0), five(1, 0)});
    report.device_limit.resize(1);
    for (const std::optional<double>& foreign : c.foreign) {
      report.runs[0].read.push_back({.images = 1, .seconds = 1});
      report.runs[0].read.back().load = {.cpus = 2, .foreign_cpus = foreign, .pressure = 0.4};
    }
    std::string all;
    for (const std::string& sentence : verdict(report)) all += sentence + "\n";
    CAPTURE(all);
    CHECK((all.find("Other processes") != std::string::npos) == (*c.said != '\0'));
    CHECK(all.find(c.said) != std::string::npos);
    if (*c.said != '\0') says(all, "waited for a CPU 40 % of the time");
  }
}

TEST_CASE("verdict: names warm inputs that the disk had a part in") {
  SpeedReport report =
      made_up({passes({{1, 0}, {1, 0}, {1, 0}}), passes({{1, 0}, {1, 0}, {1, 0}}),
               passes({{1, 4}, {1, 4}, {1, 4}}), passes({{1, 0}, {1, 0}, {1, 0}})});
  for (MeasuredRun& run : report.runs) {
    for (Pass& pass : run.training) pass.bytes = 100'000;
  }
  const auto deliver = [&](std::size_t condition, std::size_t input, std::uint64_t bytes) {
    for (Pass& pass : report.runs[condition * 2 + input].training) pass.disk_bytes = bytes;
  };
  deliver(0, 1, 1'000);
  deliver(1, 0, 100'000);  // simulated storage always does that
  for (const std::string& sentence : verdict(report))
    CHECK(sentence.find("Not all warm bytes") == std::string::npos);
  deliver(0, 1, 7'000);
  const auto sentences = verdict(report);
  REQUIRE(sentences.size() == 5);
  says(sentences[2], "Not all warm bytes");
  says(sentences[2], "the disk's share: wds (7 %).");
  // The program is loaded during the first repeat.
  deliver(0, 1, 0);
  report.runs[1].training[0].disk_bytes = 70'000;
  CHECK(verdict(report).size() == 4);
  for (std::size_t repeats = 2; repeats > 0; --repeats) {
    for (MeasuredRun& run : report.runs) run.training.resize(repeats);
    CHECK(verdict(report).size() == 4);
  }
}

TEST_CASE("verdict: says where an epoch is short") {
  SpeedReport report =
      made_up({passes({{1, 0}, {1, 0}, {1, 0}}), passes({{1, 0}, {1, 0}, {1, 0}})});
  for (Pass& pass : report.runs[0].training) pass.first_batch_s = 0.49;
  CHECK(verdict(report).size() == 2);
  for (Pass& pass : report.runs[0].training) pass.first_batch_s = 0.51;
  const auto sentences = verdict(report);
  REQUIRE(sentences.size() == 3);
  says(sentences[1], "An epoch is short here: of its 10 s from the page cache, 0.51 s pass before");
}

TEST_CASE("verdict: names the storage, the gain and what loses") {
  SpeedReport report = made_up({five(1, 0), five(1.3, 0), five(1, 4), five(1, 0)});
  const auto sentences = verdict(report);
  REQUIRE(sentences.size() == 4);
  says(sentences[0], "packing loses: wds, the fastest, makes 0.77x");
  says(sentences[1],
       "From simulated open=5ms: the storage is the limit: 80 % of the folder's epoch");
  says(sentences[1], "packing gains 5.00x (wds: 100 images/s instead of 20)");
  says(sentences[2], "by 2 reader threads, each waiting for one file at a time");
  // A third input, faster than the one that loses.
  MeasuredInput lmdb = report.inputs[1];
  lmdb.name = "lmdb";
  report.inputs.push_back(lmdb);
  report.conditions.resize(1);
  report.runs.resize(2);
  report.runs.push_back({.input = 2, .training = five(1, 0)});
  says(verdict(report)[0], "slower than the folder: wds 0.77x");
}

TEST_CASE("verdict: tells decoding from sharing cores, and other work from the same") {
  const auto waiting = verdict(made_up({five(1, 1), five(1, 0)}, "resize"));
  says(waiting[0], "decoding is the limit: 50 % of the folder's epoch");
  says(waiting[0], "packing as it is was not measured; smaller pictures gain 2.00x");
  CHECK(waiting.size() == 1);
  const auto sharing = verdict(made_up({five(1.5, 0), five(1.2, 0)}));
  says(sharing[0], "50 % longer");
  says(sharing[0], "packing gains 1.25x");
  const auto less = verdict(made_up({five(1.5, 0), five(1.2, 0)}, "roi"));
  says(less[0], "packing as it is was not measured; packing for less decoding gains 1.25x");
  const auto lost = verdict(made_up({five(1, 0), five(1.25, 0)}, "raw"));
  says(lost[0], "smaller pictures lose: wds, the fastest, makes 0.80x");
}

TEST_CASE("verdict: what could not be measured is said") {
  SpeedReport report =
      made_up({passes({{1, 0}, {1, 0}, {1, 0}}), passes({{1, 0}, {1, 0}, {1, 0}}), {}, {}});
  for (std::size_t input : {0u, 1u}) report.runs[2 + input].not_measured = "it stays in memory";
  const auto sentences = verdict(report);
  says(sentences[1], "not measured: it stays in memory");
}

TEST_CASE("recommend: the knee, and whether it may lie beyond") {
  SweepReport report;
  report.cpus = 4;
  report.device_limit = passes({{1, 0}});
  const auto add = [&](int workers, double wait) {
    report.settings.push_back({.workers = workers, .slots = 2, .passes = passes({{1, wait}})});
  };
  add(1, 1);
  add(2, 0.02);
  add(4, 0);
  CHECK(recommend(report).setting == 1);
  CHECK_FALSE(recommend(report).still_rising);
  says(recommend(report).reason, "2 reader threads");
  report.settings[1] = report.settings[0];
  CHECK(recommend(report).setting == 2);
  CHECK(recommend(report).still_rising);
}

TEST_CASE("remote: compared with the warm folder, and with the same dataset here") {
  SpeedReport report = made_up({five(1, 0.5), five(1, 0.1)});
  report.inputs.push_back(report.inputs[1]);
  report.inputs[2].name = "wds at a URL";
  report.inputs[2].from_afar = true;
  report.conditions.push_back({.kind = Condition::Kind::kRemote});
  report.runs = {{.input = 0, .condition = 0, .training = five(1, 0.5)},
                 {.input = 1, .condition = 0, .training = five(1, 0.1)},
                 {.input = 2, .condition = 0, .applies = false},
                 {.input = 0, .condition = 1, .applies = false},
                 {.input = 1, .condition = 1, .applies = false},
                 {.input = 2, .condition = 1, .training = five(1, 0.25)}};
  const Attribution parts = attribute(report, report.run(1, 2));
  CHECK(parts.preparation_s == doctest::Approx(1));
  CHECK(parts.fetch_s == doctest::Approx(1.5));
  says(io_speedups(report).front(),
       "I/O speedup from a URL: training 1.20x, read + decode 0.00x (no measurable difference)");
  const std::vector<std::string> sentences = verdict(report);
  REQUIRE(sentences.size() > 1);
  says(sentences[1],
       "From a URL, without a cache: wds at a URL trains with 80 images/s, 80 % of what the device "
       "alone takes, and waits for data 20.0 % of the time: a cache");
  says(sentences[1], "the folder in the page cache makes 67.");
  report.inputs[1].format = "lmdb";  // nothing here to compare it with
  CHECK(attribute(report, report.run(1, 2)).preparation_s == 0);
}

TEST_CASE("recommend: advises what the figures tell would help, and nothing else") {
  struct Case {
    const char* what;
    Condition::Kind from;
    double cpu_s;  ///< in the one second of a pass, on two CPUs
    const char* said;
    const char* never;
  };
  for (const Case& c :
       {Case{"busy, warm", Condition::Kind::kWarm, 1.9, "more CPUs or smaller pictures", "storage"},
        Case{"idle, warm", Condition::Kind::kWarm, 0.5, "waits 50 % of the time", "would help"},
        Case{"idle, slow storage", Condition::Kind::kSimulated, 0.5, "faster storage", "more CPUs"},
        Case{"busy, slow storage", Condition::Kind::kCold, 1.9, "more CPUs", "faster storage"}}) {
    CAPTURE(c.what);
    SpeedReport made = made_up({five(0.5, 0.5), five(1, 0)});
    SweepReport report;
    report.cpus = 2;
    report.condition.kind = c.from;
    report.device_limit = made.device_limit;
    report.settings.push_back({.workers = 4, .slots = 2, .passes = made.runs[0].training});
    for (Pass& pass : report.settings[0].passes) pass.cpu_s = c.cpu_s;
    const std::string reason = recommend(report).reason;
    says(reason, c.said);
    CHECK(reason.find(c.never) == std::string::npos);
    CHECK((reason.find("pay off when they wait for storage") != std::string::npos) ==
          (c.from != Condition::Kind::kWarm));
  }
}

TEST_CASE("recommend: says where the repeats lie too far apart to choose by") {
  SweepReport report;
  report.cpus = 2;
  report.device_limit = lasting({1});
  report.settings.push_back({.workers = 1, .slots = 2, .passes = lasting({1, 1, 1})});
  CHECK(recommend(report).reason.find("differ by more") == std::string::npos);
  report.settings[0].passes = lasting({1, 1.2, 1});
  says(recommend(report).reason, "the repeats differ by more than the 5 % that decide");
}

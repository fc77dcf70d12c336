#include "packing/staging.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <sstream>

#include "base/process.h"
#include "base/scratch_file.h"
#include "formats/format.h"
#include "pack_place.h"
#include "packhorse/version.h"
#include "packing/task_note.h"

namespace packhorse {
namespace {

constexpr int kWriters = 8;

/// A barrier for processes forked after it was made.
class SharedBarrier {
 public:
  SharedBarrier() {
    pthread_barrierattr_t shared;
    ::pthread_barrierattr_init(&shared);
    ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(barrier_, &shared, kWriters);
  }
  ~SharedBarrier() { ::munmap(barrier_, sizeof *barrier_); }
  void wait() { ::pthread_barrier_wait(barrier_); }

 private:
  pthread_barrier_t* barrier_ = static_cast<pthread_barrier_t*>(
      ::mmap(nullptr, sizeof *barrier_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
};

/// Collects lines about what went wrong while processes write at the same time, round by round.
std::string complaints(int rounds, const std::function<void(int round)>& write) {
  SharedBarrier barrier;
  std::FILE* const texts = std::tmpfile();
  ::fcntl(::fileno(texts), F_SETFL, O_APPEND);
  for (int i = 0; i < kWriters; ++i) {
    if (::fork() != 0) continue;
    for (int round = 0; round < rounds; ++round) {
      barrier.wait();
      try {
        write(round);
      } catch (const std::exception& error) {
        ::dprintf(::fileno(texts), "%s\n", error.what());
      }
    }
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) continue;
  std::rewind(texts);
  std::string all(1 << 20, '\0');
  all.resize(std::fread(all.data(), 1, all.size(), texts));
  std::fclose(texts);
  return all;
}

}  // namespace

TEST_CASE("pack: a refused run publishes nothing and lists the rejects in path order") {
  PackPlace place;
  place.put_broken("c2/x.jpg");
  put(place.source / "c0/y.jpg", "");
  const PackReport report = place.pack();
  CHECK_FALSE(report.published);
  CHECK_FALSE(fs::exists(place.out));
  REQUIRE(report.rejects.size() == 2);
  CHECK(report.rejects[0].path == "c0/y.jpg");
  CHECK(report.rejects[0].reason == "empty file");
  CHECK(report.rejects_file == place.partial / "rejects.jsonl");
  CHECK(report.rejects[0].code == Reason::kEmptyFile);
  CHECK(read_text(report.rejects_file)
            .starts_with("{\"path\":\"c0/y.jpg\",\"reason\":\"empty file\"}\n"
                         "{\"path\":\"c2/x.jpg\""));
}

TEST_CASE("pack: a refused run's shards are kept when the limit is raised") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    PackPlace place;
    place.options.format = format->name;
    place.put_broken();
    place.pack();
    place.allow(1);
    const PackReport report = place.pack();
    CHECK(report.published);
    CHECK(report.shards_kept == report.shards);
    CHECK(report.rejects.size() == 1);
    CHECK(report.accounting.balanced());
    CHECK(tree(place.out) == fresh_tree(place));
  }
}

TEST_CASE("pack: a broken file that was mended is packed again, its shard alone") {
  PackPlace place;
  place.put_broken();
  place.pack();
  put(place.source / "c1/broken.jpg", tiny_image(99, 12));
  const PackReport report = place.pack();
  CHECK(report.published);
  CHECK(report.accounting.packed == 31);
  CHECK(report.shards_kept == report.shards - 1);
  CHECK(tree(place.out) == fresh_tree(place));
}

TEST_CASE("pack: a staged shard that was damaged or is gone is made again") {
  for (const Format* format : all_formats()) {
    for (const std::string& ending : {std::string(format->file_suffix), std::string(".index")}) {
      for (const bool remove : {false, true}) {
        CAPTURE(format->name);
        CAPTURE(ending);
        PackPlace place;
        place.options.format = format->name;
        place.put_broken();
        place.pack();
        const fs::path shard = first_file(place.partial, ending);
        if (remove) {
          fs::remove(shard);
        } else {
          test::flip_byte(shard, fs::file_size(shard) / 2);
        }
        place.allow(1);
        const PackReport report = place.pack();
        CHECK(report.shards_kept == report.shards - 1);
        std::uint64_t bytes_in = 0;
        for (const auto& entry : fs::recursive_directory_iterator(place.source)) {
          if (entry.is_regular_file() && entry.path().extension() == ".pgm")
            bytes_in += entry.file_size();
        }
        CHECK(report.bytes_in == bytes_in);
        CHECK(tree(place.out) == fresh_tree(place));
      }
    }
  }
}

TEST_CASE("pack: a damaged receipt is not believed") {
  for (const char* text : {"", "x", "[]", "null", "{}", "{\"inputs\": 7}"}) {
    CAPTURE(text);
    PackPlace place;
    place.put_broken();
    place.pack();
    put(first_file(place.partial / "receipts", ".json"), text);
    place.allow(1);
    const PackReport report = place.pack();
    CHECK(report.shards_kept == report.shards - 1);
    CHECK(tree(place.out) == fresh_tree(place));
  }
}

TEST_CASE(
    "pack: a receipt without one of its fields, or with another in its place, is not believed") {
  for (const std::string field : {"version", "inputs", "samples", "bytes", "index_bytes", "sha256",
                                  "index_sha256", "bytes_in", "may_change", "notes", "rejects"}) {
    if (test::kEvery > 1 && field != "sha256") continue;
    for (const bool gone : {true, false}) {
      CAPTURE(field);
      CAPTURE(gone);
      PackPlace place;
      place.put_broken();
      place.pack();
      const fs::path receipt = first_file(place.partial / "receipts", ".json");
      std::string text = read_text(receipt);
      const std::size_t name = text.find('"' + field + '"');
      REQUIRE(name != std::string::npos);
      const std::size_t value = text.find(':', name) + 1;
      text.insert(gone ? name + 1 : value, gone ? "no_" : "[[7]], \"was\": ");
      put(receipt, text);
      place.allow(1);
      const PackReport report = place.pack();
      CHECK(report.shards_kept == report.shards - 1);
      CHECK(tree(place.out) == fresh_tree(place));
    }
  }
}

TEST_CASE("pack: shards of other options are not kept") {
  const auto changes = {+[](PackOptions& options) { options.plan.seed = 1; },
                        +[](PackOptions& options) {
                          options.list.classes = {"c2", "c1", "c0"};
                        },
                        +[](PackOptions& options) { options.format = "lmdb"; },
                        +[](PackOptions& options) { options.zstd_level = 3; },
                        +[](PackOptions& options) { options.transform.quality = 80; },
                        +[](PackOptions& options) { options.limits.pixels = 5; }};
  for (const auto& change : changes) {
    PackPlace place;
    place.options.image = "resize";
    place.put_broken();
    place.pack();
    place.allow(1);
    change(place.options);
    CHECK(place.pack().shards_kept == 0);
    CHECK(tree(place.out) == fresh_tree(place));
  }
}

TEST_CASE("pack: shards of an earlier, larger plan do not stay") {
  PackPlace place;
  place.put_broken();
  place.options.plan.shard_samples = 1;
  place.pack();
  place.allow(1);
  place.options.plan.shard_samples = 100;
  place.pack();
  CHECK(tree(place.out) == fresh_tree(place));
}

TEST_CASE("pack: a target that is there is not touched") {
  PackPlace place;
  put(place.out / "precious", "x");
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK(read_text(place.out / "precious") == "x");
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("pack: overwriting replaces a dataset, and nothing else") {
  PackPlace place;
  place.pack();
  place.options.overwrite = true;
  place.options.plan.seed = 3;
  place.pack();
  CHECK(tree(place.out) == fresh_tree(place));
  CHECK_FALSE(fs::exists(place.partial));
  place.out = place.directory / "other";
  put(place.out / "precious", "x");
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK(fs::exists(place.out / "precious"));
}

TEST_CASE("pack: a refused run does not touch the dataset it would replace") {
  PackPlace place;
  place.pack();
  const std::string before = tree(place.out);
  place.put_broken();
  place.options.overwrite = true;
  CHECK_FALSE(place.pack().published);
  CHECK(tree(place.out) == before);
}

TEST_CASE("pack: a target another writer holds is refused, until it lets go") {
  const PackPlace place;
  {
    const Staging held(place.out, Staging::Hold::kAlone, "pack\njob");
    CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
    CHECK(kind_of_error([&] { Staging second(place.out, Staging::Hold::kAlone, "job"); }) ==
          ErrorKind::kExists);
  }
  CHECK(place.pack().published);
}

TEST_CASE("pack: a staging directory that is somebody else's is not touched") {
  const PackPlace place;
  put(place.partial / "precious", "x");
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK(read_text(place.partial / "precious") == "x");
}

TEST_CASE("staging lock: what is somebody else's is given no lock, and keeps its own") {
  const PackPlace place;
  const auto refused = [&] {
    return kind_of_error([&] { StagingLock(place.partial, StagingLock::Hold::kAlone); }) ==
           ErrorKind::kExists;
  };
  put(place.partial / "precious", "x");
  CHECK(refused());
  CHECK_FALSE(fs::exists(place.partial / "lock"));
  put(place.partial / "lock", "");
  CHECK(refused());
  CHECK(read_text(place.partial / "lock").empty());
  put(place.partial / "lock", "of another program");
  CHECK(refused());
  CHECK(read_text(place.partial / "lock") == "of another program");
  fs::remove(place.partial / "lock");
  fs::create_directory(place.partial / "lock");
  CHECK(refused());
  CHECK(read_text(place.partial / "precious") == "x");
}

TEST_CASE("staging lock: one whose maker died before it signed is taken over") {
  const PackPlace place;
  put(place.partial / "lock", "");
  CHECK(place.pack().published);
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("staging lock: only what a dead writer signed is a leftover") {
  const PackPlace place;
  CHECK_FALSE(StagingLock::take_over(place.partial));
  put(place.partial / "lock", "");
  CHECK_FALSE(StagingLock::take_over(place.partial));
  {
    const StagingLock held(place.partial, StagingLock::Hold::kAlone);
    CHECK_FALSE(StagingLock::take_over(place.partial));
  }
  auto left = StagingLock::take_over(place.partial);
  REQUIRE(left);
  left->remove_root();
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("pack: an empty staging directory beside a target that is there goes") {
  const PackPlace place;
  place.pack();
  fs::create_directory(place.partial);
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("pack: a staging directory that is a link is somebody else's") {
  const PackPlace place;
  put(place.directory / "other/precious", "x");
  put(place.directory / "other/lock", "process 1 on here\n");
  fs::create_directory_symlink(place.directory / "other", place.partial);
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK_FALSE(StagingLock::take_over(place.partial));
  CHECK(read_text(place.directory / "other/precious") == "x");
  CHECK_FALSE(fs::exists(place.out));
}

TEST_CASE("pack: a source inside of what it would replace is kept") {
  PackPlace place;
  place.pack();
  fs::rename(place.source, place.out / "source");
  place.options.overwrite = true;
  place.source = place.out / "source";
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kUsage);
  CHECK(fs::exists(place.source));
}

TEST_CASE("pack: a split may be called like a temporary file, and goes on") {
  PackPlace place;
  place.options.check_space = false;
  put(place.directory / "list.csv",
      "path,label,split\nsource/c0/0000.pgm,c0,q.tmp\ngone.bmp,c0,q.tmp\n");
  place.source = place.directory / "list.csv";
  place.options.list.allow_odd_classes = false;
  CHECK_FALSE(place.pack().published);
  place.allow(1);
  CHECK(place.pack().published);
}

TEST_CASE("pack: what another command has begun is not taken over") {
  const PackPlace place;
  { const Staging left(place.out, Staging::Hold::kAlone, "unpack\n"); }
  put(place.partial / "data/a.jpg", "x");
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kExists);
  CHECK(read_text(place.partial / "data/a.jpg") == "x");
}

TEST_CASE("pack: shards of another version are made again, and it is said") {
  PackPlace place;
  place.put_broken();
  place.pack();
  for (const auto& entry : fs::directory_iterator(place.partial / "receipts")) {
    std::string text = read_text(entry.path());
    text.replace(text.find(version()), version().size(), "0.0.9");
    put(entry.path(), text);
  }
  place.allow(1);
  const PackReport report = place.pack();
  CHECK(report.shards_kept == 0);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0] == "8 finished shards of packhorse 0.0.9 were made again by " + version());
  CHECK(tree(place.out) == fresh_tree(place));
}

TEST_CASE("pack: tasks that begin at the same time share a staging directory") {
  const test::TemporaryDirectory directory;
  CHECK(complaints(400, [&](int round) {
          const Staging staging(directory / std::to_string(round), Staging::Hold::kShared, "job");
          if (read_text(staging.root() / "job") != "job") throw std::runtime_error("no job");
        }) == "");
}

TEST_CASE("pack: of tasks of two jobs that begin at the same time, only those of one go on") {
  const test::TemporaryDirectory directory;
  constexpr int kRounds = 200;
  std::istringstream lines(complaints(kRounds, [&](int round) {
    const fs::path out = directory / std::to_string(round);
    const std::string job = "pack\n" + std::to_string(::getpid() % 2);
    const Staging staging(out, Staging::Hold::kShared, job);
    if (read_text(staging.root() / "job") != job) throw std::runtime_error("another's job");
  }));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(line.starts_with("tasks with other options"), line);
}

TEST_CASE("pack: writers that replace one dataset never lose a directory they hold") {
  const test::TemporaryDirectory directory;
  const fs::path out = directory / "out", source = directory / "source";
  fs::create_directory(out);
  std::istringstream lines(complaints(200, [&](int) {
    // This is refused because the target exists; leftovers of a dead writer are removed on the way.
    if (kind_of_error([&] { check_target(source, out, false); }) != ErrorKind::kExists)
      throw std::runtime_error("not refused");
    Staging staging(out, Staging::Hold::kAlone, "job");
    write_plain_file(staging.root() / "mine", as_bytes(std::to_string(::getpid())));
    if (read_text(staging.root() / "mine") != std::to_string(::getpid()))
      throw std::runtime_error("another's directory");
    staging.discard();
  }));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(line.starts_with("another process is writing"), line);
  CHECK_FALSE(fs::exists(staging_path(out)));
}

TEST_CASE("pack: writers that come as others go are told of those at most") {
  const test::TemporaryDirectory directory;
  const fs::path out = directory / "out";
  std::istringstream lines(
      complaints(200, [&](int) { Staging(out, Staging::Hold::kAlone, "job").discard(); }));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(line.starts_with("another process is writing"), line);
  CHECK_FALSE(fs::exists(staging_path(out)));
}

TEST_CASE("pack: a target inside the source is refused") {
  PackPlace place;
  place.out = place.source / "out";
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kUsage);
  place.out = place.source;
  CHECK(kind_of_error([&] { place.pack(); }) == ErrorKind::kUsage);
  CHECK_FALSE(fs::exists(place.source / "out.partial"));
}

TEST_CASE("pack: a slash at the end of the target changes nothing") {
  PackPlace place;
  place.out = place.directory / "out/";
  CHECK(staging_path(place.out) == place.partial);
  CHECK(place.pack().published);
  CHECK(fs::exists(place.directory / "out/dataset.json"));
}

TEST_CASE("pack: a dry run counts and writes nothing") {
  PackPlace place;
  place.options.dry_run = true;
  put(place.source / "stray.jpg", "x");
  const std::string before = tree(place.directory.path());
  const PackReport report = place.pack();
  CHECK_FALSE(report.published);
  CHECK(report.shards == 8);
  CHECK(report.accounting.packed == 30);
  CHECK(report.accounting.rejected == 1);
  CHECK(report.accounting.balanced());
  CHECK(tree(place.directory.path()) == before);
  CHECK_FALSE(fs::exists(place.partial));
}

TEST_CASE("staging: the storage's time is that of its files") {
  const test::TemporaryDirectory directory;
  const auto before = storage_time(directory.path());
  put(directory / "file", "x");
  const auto after = storage_time(directory / "not there");  // the folder around it tells
  CHECK(before <= fs::last_write_time(directory / "file"));
  CHECK(fs::last_write_time(directory / "file") <= after);
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
  CHECK(test::kind_of_error([] { storage_time("/proc/self"); }) == ErrorKind::kIo);
}

TEST_CASE("staging: who is at work on another machine is told by the notes") {
  const test::TemporaryDirectory directory;
  const fs::path folder = directory / TaskNote::kFolder;
  CHECK_FALSE(at_work_elsewhere(directory.path(), false).has_value());
  fs::create_directories(folder);
  TaskNote note{.task = "3/8", .host = "elsewhere", .pid = 17, .splits = {""}, .shards = {8}};
  note.write(folder / "3-of-8.json");
  REQUIRE(at_work_elsewhere(directory.path(), false).has_value());
  CHECK(at_work_elsewhere(directory.path(), false)->pid == 17);
  CHECK_FALSE(at_work_elsewhere(directory.path(), true).has_value());  // it shares the work
  note.task = "";
  note.write(folder / "all.json");
  CHECK(at_work_elsewhere(directory.path(), true).has_value());
  note.ended = true;
  note.write(folder / "all.json");
  CHECK_FALSE(at_work_elsewhere(directory.path(), true).has_value());
  const auto long_ago = fs::last_write_time(folder / "all.json") - 2 * TaskNote::kSilent;
  fs::last_write_time(folder / "3-of-8.json", long_ago);
  CHECK_FALSE(at_work_elsewhere(directory.path(), false).has_value());
  note.ended = false;
  note.host = host_name();
  note.write(folder / "all.json");
  CHECK_FALSE(at_work_elsewhere(directory.path(), false).has_value());  // its lock will do
}

}  // namespace packhorse

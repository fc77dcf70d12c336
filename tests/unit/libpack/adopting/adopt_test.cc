#include "packhorse/adopting/adopt.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/hash.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/walkers/walkers.h"
#include "support/made_dataset.h"
#include "support/support.h"

namespace {

int directory_syncs = 0, failing_directory_sync = 0;
bool dying = false;

}  // namespace

/// Replaces the C library's fsync in the whole test program: the disk fails, or the power does, at
/// one sync of a directory.
extern "C" int fsync(int fd) {
  struct stat status {};
  if (failing_directory_sync > 0 && ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) &&
      ++directory_syncs == failing_directory_sync) {
    if (dying) ::_exit(1);
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::MadeDataset;
using test::TemporaryDirectory;

/// Two foreign tar shards.
struct Shards {
  TemporaryDirectory directory;
  fs::path path = directory / "shards";

  Shards() {
    MadeDataset made;
    for (int i = 0; i < 6; ++i) {
      made.rows.push_back({.key = key_of(static_cast<std::uint64_t>(i)),
                           .label = i % 2,
                           .bytes = test::tiny_image(i),
                           .image = {ImageKind::kBmp, 1, 8, 1, 1, 1}});
    }
    made.write(directory / "made");
    fs::create_directory(path);
    for (const char* name : {"shard-0.tar", "shard-1.tar"})
      fs::copy_file(directory / "made" / name, path / name);
  }

  /// Adopts with a shell script in place of the process that walks through shards; returns the
  /// error.
  std::string refusal(const std::string& script) const {
    AdoptOptions options;
    options.jobs = 1;
    options.walkers = make_walkers({"/bin/sh", "-c", script});
    try {
      adopt({path}, options);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCorrupt);
      CHECK(error.path() == path / "shard-0.tar");
      return error.what();
    }
    return "it was adopted";
  }
};

/// Shards that were adopted, and the options for adopting them again.
struct Adopted : Shards {
  AdoptOptions again;
  std::string before, after;

  Adopted() {
    adopt({path}, {});
    before = test::tree(path);
    std::string labels;
    for (int i = 0; i < 6; ++i)
      labels += key_of(static_cast<std::uint64_t>(i)) + (i % 2 == 0 ? " 1\n" : " 0\n");
    test::put(directory / "labels.txt", labels);
    again.labels = directory / "labels.txt";
    again.overwrite = true;
    const Shards others;
    adopt({others.path}, again);
    after = test::tree(others.path);
    REQUIRE(before != after);
  }

  /// Adopts again in another process, which dies at a sync.
  bool dies_at(int sync) const {
    const pid_t child = ::fork();
    if (child == 0) {
      directory_syncs = 0;
      failing_directory_sync = sync;
      dying = true;
      adopt({path}, again);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  }

  /// Rewrites the manifest, with the matching id.
  void forge(const std::function<void(Manifest&)>& change) const {
    Manifest manifest = Manifest::load(path);
    change(manifest);
    test::put(path / kManifestName, manifest.serialise());
    test::put(path / kSumsName, manifest.sums());
  }
};

std::string answer(const std::string& lines) {
  return "while read task; do printf '%s\\n' " + lines + "; done";
}

}  // namespace

TEST_CASE("adopt: a sync that fails leaves no dataset, no piece of one, and the way free") {
  const Shards shards;
  const std::string before = test::tree(shards.path);
  bool done = false;
  for (int failing = 1; !done; ++failing) {
    CAPTURE(failing);
    REQUIRE(failing < 100);
    directory_syncs = 0;
    failing_directory_sync = failing;
    try {
      done = adopt({shards.path}, {}).published;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
      CHECK(test::tree(shards.path) == before);
    }
    failing_directory_sync = 0;
    CHECK(is_packed_dataset(shards.path) == done);
  }
  CHECK(PackedDataset(shards.path).size() == 6);
}

TEST_CASE("adopt: an earlier adoption is replaced as a whole, or is there as it was") {
  bool done = false;
  for (int failing = 1; !done; ++failing) {
    CAPTURE(failing);
    REQUIRE(failing < 100);
    const Adopted shards;
    directory_syncs = 0;
    failing_directory_sync = failing;
    try {
      done = adopt({shards.path}, shards.again).published;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
    }
    failing_directory_sync = 0;
    CHECK(test::tree(shards.path) == (done ? shards.after : shards.before));
  }
}

TEST_CASE("adopt: who dies while an earlier adoption is replaced leaves it to the next") {
  bool died = true;
  for (int sync = 1; died; ++sync) {
    CAPTURE(sync);
    REQUIRE(sync < 100);
    const Adopted shards;
    died = shards.dies_at(sync);
    CHECK(kind_of_error([&] { adopt({shards.path}, {}); }) == ErrorKind::kExists);
    const std::string now = test::tree(shards.path);
    CHECK((now == shards.before || now == shards.after));
    CHECK(adopt({shards.path}, shards.again).published);
    CHECK(test::tree(shards.path) == shards.after);
  }
}

TEST_CASE("adopt: what a dataset.json calls its own is not removed for that") {
  const auto refuses = [](const std::function<void(Manifest&)>& change) {
    const Adopted shards;
    test::put(shards.path / "thesis.txt", "mine");
    shards.forge(change);
    const std::string before = test::tree(shards.path);
    CHECK(kind_of_error([&] { adopt({shards.path}, shards.again); }) == ErrorKind::kExists);
    CHECK(test::tree(shards.path) == before);
  };
  const FileRecord thesis{"thesis.txt", 4, sha256(as_bytes("mine"))};
  refuses([&](Manifest& manifest) { manifest.files.push_back(thesis); });
  refuses([&](Manifest& manifest) { manifest.shards[0].index = thesis.file; });
  refuses([](Manifest& manifest) { manifest.shards[0].index = manifest.shards[1].index; });
}

TEST_CASE("adopt: what the process says of a shard is taken, or refused with the shard's name") {
  const Shards shards;
  const std::string end = R"( '{"end": "done", "signal": 0, "row": 2, "detail": ""}')";
  const std::pair<std::string, std::string> answers[] = {
      {answer(R"('{"end": "crashed", "signal": 11, "row": 7, "detail": ""}')"),
       "the format's own library crashed on it (Segmentation fault), at sample 7"},
      {answer(R"('{"end": "time", "signal": 0, "row": -1, "detail": ""}')"),
       "the format's own library did not finish it in time"},
      {answer(R"('{"end": "memory", "signal": 0, "row": -1, "detail": ""}')"),
       "the format's own library needed too much memory for it"},
      {"read task; exit 0", "it could not be checked: the process that checked it ended"},
      {answer(R"('{"shard":["61",3,[]]}')" + end),
       "the process that checked it left out some samples"},
      {answer(R"('{"error":[5,"776879","","",""]}')" + end), "why"},
  };
  for (const auto& [script, words] : answers) {
    CAPTURE(script);
    CHECK(shards.refusal(script) == words);
    CHECK_FALSE(is_packed_dataset(shards.path));
  }
  CHECK(shards.refusal(answer(R"('{"shard":7}')" + end)).find("sent an invalid answer") !=
        std::string::npos);
}

}  // namespace packhorse

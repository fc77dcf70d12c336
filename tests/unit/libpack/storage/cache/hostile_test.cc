#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "cache_place.h"
#include "storage/cache/runs_header.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::CachePlace;
using test::Claim;
using test::fetch;
using test::kind_of_error;
using test::kMebi;
using test::open;
using test::put;
using test::Remote;
using test::shows;

const std::string kAccountFile = "packhorse-cache.json";

/// A cache with one whole file, which nobody has open.
struct Kept {
  CachePlace place;
  Remote remote{1, kRunBytes + 5000};
  RunCache cache = place.cache();
  Kept() { fetch(*open(cache, remote), remote); }

  fs::path runs() const { return place.file(remote, ".runs"); }
  fs::path data() const { return place.file(remote, ".data"); }
  /// Whether opening it gives a file with no runs, which can be filled.
  bool begins_anew() {
    const auto file = open(cache, remote);
    for (std::size_t run = 0; run < file->runs(); ++run)
      if (file->has(run)) return false;
    fetch(*file, remote);
    return as_text(file->data().bytes()) == remote.bytes;
  }
  ErrorKind refusal() {
    return kind_of_error([&] { open(cache, remote); });
  }
};

}  // namespace

TEST_CASE("hostile cache: a directory that holds something else is refused, and stays as it is") {
  const CachePlace place;
  for (const char* name : {"photo.jpg", "ab/x", ".hidden"}) {
    fs::remove_all(place.path());
    put(place.path() / name, "x");
    const std::string before = test::tree(place.path());
    CHECK(kind_of_error([&] { place.cache(); }) == ErrorKind::kUsage);
    CHECK(test::tree(place.path()) == before);
  }
  fs::remove_all(place.path());
  put(place.path() / "lost+found/x", "");
  CHECK(place.cache().entries().empty());
}

TEST_CASE("hostile cache: an account that is none is refused, and stays as it is") {
  const CachePlace place;
  for (const std::string& text : {std::string("{}"), std::string("[1]"), std::string(5000, 'x')}) {
    put(place.path() / kAccountFile, text);
    CHECK(kind_of_error([&] { place.cache(); }) == ErrorKind::kUsage);
    CHECK(read_text(place.path() / kAccountFile) == text);
  }
  put(place.path() / kAccountFile, "{\"packhorse_cache\": 9}");
  CHECK(kind_of_error([&] { place.cache(); }) == ErrorKind::kUnsupported);
  // Empty, it is one whose maker died.
  put(place.path() / kAccountFile, "");
  CHECK(place.cache().entries().empty());
}

TEST_CASE("hostile cache: the account's numbers are corrected") {
  Kept kept;
  put(kept.place.path() / kAccountFile,
      "{\"most\":  9000000,\n \"stored\": 18446744073709551615, \"packhorse_cache\": 1}\n\n\n"
      "                                                                                    \n");
  const Remote other(2);
  CHECK(fetch(*open(kept.cache, other), other) == Claim::kMine);
  CHECK(kept.cache.entries().size() == 2);
  CHECK(RunCache(kept.place.path()).most() == 9'000'000);
}

TEST_CASE("hostile cache: no link is followed") {
  Kept kept;
  const fs::path target = kept.place.directory / "target";
  for (const fs::path& path :
       {kept.runs(), kept.data(), kept.runs().parent_path(), kept.place.path() / kAccountFile}) {
    CAPTURE(path);
    fs::rename(path, target);
    const bool is_folder = fs::is_directory(target);
    const std::string before = is_folder ? test::tree(target) : read_text(target);
    fs::create_symlink(target, path);
    if (path.filename() == kAccountFile) {
      CHECK(kind_of_error([&] { kept.place.cache(); }) == ErrorKind::kIo);
    } else {
      CHECK(kept.refusal() == ErrorKind::kIo);
      CHECK(kept.cache.verify().empty());
      CHECK(kept.cache.clear() == 0);
    }
    CHECK((is_folder ? test::tree(target) : read_text(target)) == before);
    CHECK(fs::is_symlink(path));
    fs::remove(path);
    fs::rename(target, path);
  }
  CHECK(shows(*open(kept.cache, kept.remote), kept.remote, 0));
}

TEST_CASE("hostile cache: files with a second name are not its own") {
  Kept kept;
  for (const fs::path& path : {kept.runs(), kept.data()}) {
    fs::create_hard_link(path, kept.place.directory / "second");
    CHECK(kept.refusal() == ErrorKind::kIo);
    CHECK(kept.cache.clear() == 0);
    fs::remove(kept.place.directory / "second");
  }
  CHECK(kept.cache.clear() > 0);
}

TEST_CASE("hostile cache: pipes and folders are refused, and nothing waits for them") {
  Kept kept;
  for (const fs::path& path : {kept.runs(), kept.data()}) {
    for (const bool pipe : {true, false}) {
      fs::rename(path, kept.place.directory / "aside");
      pipe ? static_cast<void>(::mkfifo(path.c_str(), 0600))
           : static_cast<void>(fs::create_directory(path));
      CHECK(kept.refusal() == ErrorKind::kIo);
      CHECK(kept.cache.verify().empty());
      CHECK(kept.cache.clear() == 0);
      fs::remove(path);
      fs::rename(kept.place.directory / "aside", path);
    }
  }
}

TEST_CASE("hostile cache: files and directories of other users are refused") {
  if (::geteuid() != 0) {
    test::skipped("only root can make files of other users");
    return;
  }
  constexpr uid_t kOther = 12345;
  Kept kept;
  for (const fs::path& path : {kept.runs(), kept.data(), kept.runs().parent_path()}) {
    REQUIRE(::chown(path.c_str(), kOther, ::getegid()) == 0);
    CHECK(kept.refusal() == ErrorKind::kIo);
    CHECK(kept.cache.clear() == 0);
    REQUIRE(::chown(path.c_str(), ::geteuid(), ::getegid()) == 0);
  }
  REQUIRE(::chown(kept.place.path().c_str(), kOther, ::getegid()) == 0);
  CHECK(kind_of_error([&] { kept.place.cache(); }) == ErrorKind::kUsage);
}

TEST_CASE("hostile cache: damaged .runs files are made anew") {
  Kept kept;
  for (const std::uint64_t at : {0u, 8u, 16u, 24u, 40u, 64u}) {
    test::flip_byte(kept.runs(), at);
    CHECK(kept.begins_anew());
  }
  for (const std::uint64_t size : {0u, 1u, 95u, 96u, 97u, 99u, 5000u}) {
    test::truncate(kept.runs(), size);
    CHECK(kept.begins_anew());
  }
  put(kept.runs(), std::string(98, '\1'));
  CHECK(kept.begins_anew());
  fs::remove(kept.runs());
  CHECK(kept.begins_anew());
}

TEST_CASE("hostile cache: a .runs file of another file is made anew") {
  Kept kept;
  const Remote other(2, kRunBytes + 6000);
  fetch(*open(kept.cache, other), other);
  fs::copy_file(kept.place.file(other, ".runs"), kept.runs(), fs::copy_options::overwrite_existing);
  CHECK(kept.cache.entries().size() == 1);
  CHECK(kept.begins_anew());
  CHECK(kept.cache.entries().size() == 2);
}

TEST_CASE("hostile cache: without the right data no run is there") {
  Kept kept;
  for (const std::uint64_t size : {std::uint64_t{0}, kRunBytes, 2 * kRunBytes}) {
    test::truncate(kept.data(), size);
    CHECK(kept.cache.verify().empty());
    CHECK(kept.begins_anew());
  }
  fs::remove(kept.data());
  CHECK(kept.cache.verify().empty());
  CHECK(kept.begins_anew());
}

TEST_CASE("hostile cache: the size is another one: made anew, but not while it is open") {
  Kept kept;
  const std::string& hash = kept.remote.sha256;
  {
    const auto file = open(kept.cache, kept.remote);
    CHECK(kind_of_error([&] { kept.cache.open(hash, 5000); }) == ErrorKind::kIo);
    CHECK(shows(*file, kept.remote, 0));
    test::flip_byte(kept.runs(), 0);
    CHECK(kept.refusal() == ErrorKind::kIo);
    CHECK(shows(*file, kept.remote, 0));
  }
  const auto file = kept.cache.open(hash, 5000);
  CHECK(file->runs() == 1);
  CHECK_FALSE(file->has(0));
}

TEST_CASE("hostile cache: only a 1 says that a run is there") {
  Kept kept;
  for (const char value : {'\0', '\2', '\x7f', '\xff'}) {
    std::fstream(kept.runs(), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(kRunsHeaderBytes)
        .put(value);
    CHECK_FALSE(open(kept.cache, kept.remote)->has(0));
    CHECK(open(kept.cache, kept.remote)->has(1));
    CHECK(kept.cache.entries()[0].stored == 5000);
  }
}

TEST_CASE("hostile cache: files that are cut while they are open show nothing, and end nothing") {
  Kept kept;
  const auto file = open(kept.cache, kept.remote);
  test::truncate(kept.data(), 0);
  CHECK_FALSE(shows(*file, kept.remote, 0));
  CHECK(file->data().truncated());
  test::truncate(kept.runs(), 0);
  CHECK_FALSE(file->has(0));
  CHECK_FALSE(file->has(1));
  static_cast<void>(file->claim(0));
}

TEST_CASE("hostile cache: nothing is removed that the cache has not made") {
  Kept kept;
  const std::string hash(64, 'c');
  const fs::path root = kept.place.path();
  put(root / "notes.txt", "x");
  put(root / "zz/x", "x");
  put(root / "cc" / (hash + ".data"), "x");
  put(root / "cc" / (hash + ".runs"), std::string(97, 'x'));
  put(root / "cc" / ("d" + hash.substr(1) + ".runs"), "x");
  put(root / "cc/x.runs", "x");
  put(root / "cc" / (hash + ".runs.old"), "x");
  CHECK(kept.cache.entries().size() == 1);
  CHECK(kept.cache.verify().empty());
  CHECK(kept.cache.clear() > 0);
  CHECK_FALSE(fs::exists(kept.runs()));
  for (const char* name : {"notes.txt", "zz/x", "cc/x.runs"}) CHECK(fs::exists(root / name));
  for (const char* ending : {".data", ".runs", ".runs.old"})
    CHECK(fs::exists(root / "cc" / (hash + ending)));
  CHECK(fs::exists(root / "cc" / ("d" + hash.substr(1) + ".runs")));
}

TEST_CASE("hostile cache: data whose .data is not its own is not evicted either") {
  CachePlace place(4);
  RunCache cache = place.cache();
  const Remote a(1, 3 * kMebi), b(2, 3 * kMebi);
  fetch(*open(cache, a), a);
  fs::create_hard_link(place.file(a, ".data"), place.directory / "second");
  const auto file = open(cache, b);
  // What is not the cache's does not count either.
  CHECK(fetch(*file, b) == Claim::kMine);
  CHECK(fs::exists(place.file(a, ".runs")));
  CHECK(read_text(place.directory / "second") == a.bytes);
}

}  // namespace packhorse

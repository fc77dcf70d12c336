#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "storage/cache/run_cache.h"
#include "support/support.h"

/// The vocabulary of the cache's tests: remote files, a cache, and other processes.
namespace packhorse::test {

using Claim = CachedFile::Claim;
inline constexpr std::uint64_t kMebi = 1u << 20;

/// A file that is somewhere else. Each number gives other bytes.
struct Remote {
  std::string bytes, sha256;
  explicit Remote(std::uint64_t number, std::uint64_t size = kMebi) : bytes(size, '\0') {
    std::uint64_t state = number * 0x9E3779B97F4A7C15u + 1;
    for (char& byte : bytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<char>(state >> 56);
    }
    sha256 = packhorse::sha256(as_bytes(bytes));
  }
  Bytes run(ByteRange range) const { return as_bytes(bytes).subspan(range.offset, range.length); }
};

/// A cache that may hold `mebi` MiB, and the paths in it.
struct CachePlace {
  TemporaryDirectory directory;
  std::uint64_t most;
  explicit CachePlace(std::uint64_t mebi = 64) : most(mebi * kMebi) {}

  std::filesystem::path path() const { return directory / "cache"; }
  RunCache cache() const { return {path(), most}; }
  std::filesystem::path file(const Remote& remote, const std::string& ending) const {
    return path() / remote.sha256.substr(0, 2) / (remote.sha256 + ending);
  }
};

inline std::shared_ptr<CachedFile> open(RunCache& cache, const Remote& remote) {
  return cache.open(remote.sha256, remote.bytes.size());
}

/// Fetches the runs that are absent; what claim() said to the last of these.
inline Claim fetch(CachedFile& file, const Remote& remote) {
  Claim said = Claim::kThere;
  for (std::size_t run = 0; run < file.runs(); ++run) {
    said = file.claim(run);
    if (said == Claim::kMine) REQUIRE(file.write(run, remote.run(file.range_of(run))));
  }
  return said;
}

/// Whether the run is there, with the right bytes.
inline bool shows(const CachedFile& file, const Remote& remote, std::size_t run) {
  if (!file.has(run)) return false;
  const ByteRange range = file.range_of(run);
  return as_text(file.data().bytes().subspan(range.offset, range.length)) ==
         as_text(remote.run(range));
}

/// A child made by fork(), which ends with what `work` returns; killed in the end if it still runs.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : process_(::fork()) {
    if (process_ != 0) return;
    try {
      ::_exit(work());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    } catch (...) {
    }
    ::_exit(99);
  }
  ~Child() {
    if (process_ > 0) kill();
  }
  Child(Child&& other) noexcept : process_(std::exchange(other.process_, 0)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  /// Its exit code; minus the signal that ended it.
  int wait() {
    int status = 0;
    uninterrupted([&] { return ::waitpid(process_, &status, 0); });
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int kill() {
    ::kill(process_, SIGKILL);
    return wait();
  }

 private:
  pid_t process_;
};

/// A pipe over which processes give each other signs.
class Signs {
 public:
  Signs() { REQUIRE(::pipe(ends_) == 0); }
  ~Signs() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signs(const Signs&) = delete;
  Signs& operator=(const Signs&) = delete;
  void give() const { static_cast<void>(!::write(ends_[1], "x", 1)); }
  void await() const {
    char sign = 0;
    static_cast<void>(!uninterrupted([&] { return ::read(ends_[0], &sign, 1); }));
  }

 private:
  int ends_[2] = {};
};

}  // namespace packhorse::test

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/hash.h"
#include "dataset/remote_files.h"
#include "dataset/shard_index.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/storage/remote.h"
#include "simulation/operator.h"
#include "simulation/scenarios.h"
#include "storage/cache/run_cache.h"
#include "storage/cache/runs_header.h"

namespace packhorse::simulation {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kSizes[] = {4 * kMiB, 5 * kMiB, 9 * kMiB, 64 * kMiB};
constexpr std::uint64_t kBlock = 4096;  // a file takes whole ones

/// What the cache promises, to whoever looks at its files.
class CachePromise {
 public:
  CachePromise(fs::path folder, std::uint64_t most, const Sample& sample, bool damage)
      : folder_(std::move(folder)), most_(most), images_(sample.images), damage_(damage) {
    for (const auto& [name, content] : sample.files)
      contents_[sha256(as_bytes(content))] = &content;
  }

  /// It takes no more of the disk than it may.
  void check_size() const {
    std::uint64_t taken = 0, files = 0;
    for (const fs::path& path : files_ending_in(".data")) {
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0) continue;
      taken += static_cast<std::uint64_t>(status.st_blocks) * 512;
      ++files;
    }
    if (taken > most_ + files * kBlock)
      throw Violation(fmt::format("the cache takes {} bytes, and may take {}", taken, most_));
  }

  /// Runs that are there have the right bytes.
  void check_runs() const {
    for (const fs::path& path : files_ending_in(".runs")) {
      const std::string runs = read_text(path);
      const auto content = contents_.find(path.stem().string());
      if (content == contents_.end()) throw Violation(path.string() + " is of nothing known");
      const fs::path of_data = fs::path(path).replace_extension(".data");
      if (!parse_runs_header(as_bytes(runs), runs.size())) continue;  // it is being made
      if (!fs::exists(of_data)) continue;                             // it is being removed
      const std::string& right = *content->second;
      std::optional<std::string> data;
      for (std::size_t run = 0; run < runs_of(right.size()); ++run) {
        if (runs.at(byte_of_run(run).offset) != 1) continue;
        if (!data) data = read_text(of_data);
        const ByteRange range = run_range(right.size(), run);
        if (is_wrong(*data, right, range))
          throw Violation(fmt::format("run {} of {} has wrong bytes", run, path.string()));
      }
    }
  }

 private:
  /// What is damaged on its way is found in images that lie in a run as a whole, when it arrives.
  /// Bytes between images are left to whoever reads them.
  bool is_wrong(const std::string& data, const std::string& right, ByteRange range) const {
    const auto differs = [&](std::uint64_t offset, std::uint64_t length) {
      return data.compare(offset, length, right, offset, length) != 0;
    };
    if (!differs(range.offset, range.length)) return false;
    if (!damage_) return true;
    return std::any_of(images_.begin(), images_.end(), [&](const auto& image) {
      const std::size_t at = right.find(image.second);
      return at != std::string::npos && at >= range.offset &&
             at + image.second.size() <= range.end() && differs(at, image.second.size());
    });
  }

  std::vector<fs::path> files_ending_in(std::string_view ending) const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_)) return found;
    for (const fs::directory_entry& entry : entries_below(folder_))
      if (entry.path().native().ends_with(ending)) found.push_back(entry.path());
    return found;
  }

  const fs::path folder_;
  const std::uint64_t most_;
  const Files& images_;
  const bool damage_;
  std::map<std::string, const std::string*> contents_;
};

void compare(std::string_view name, std::string_view read, const Files& right) {
  if (read != right.at(std::string(name)))
    throw std::logic_error(fmt::format("other bytes of {} are read", name));
}

/// A program that reads from afar, through the cache, what it finds to read.
class Reader {
 public:
  Reader(const fs::path& cache, std::uint64_t most, const Sample& sample, bool damage)
      : cache_(cache), most_(most), sample_(sample), damage_(damage) {
    RemoteOptions options;
    options.cache = cache;
    options.cache_bytes = most;
    enable_remote(options);
  }

  /// Goes on after an error, as programs may, and throws it at its end.
  void read_some() {
    std::exception_ptr failure;
    for (std::uint64_t left = 1 + shared->chance.below(6); left > 0; --left) {
      try {
        read();
      } catch (const Error&) {
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void read() {
    switch (shared->chance.below(8)) {
      case 0:
        RunCache(cache_, most_).clear();
        break;
      case 1:
        if (const auto damaged = RunCache(cache_, most_).verify(); !damaged.empty() && !damage_)
          throw std::logic_error("the cache finds damaged what is right: " + damaged.front());
        break;
      case 2:
      case 3:
      case 4:
        read_samples();
        break;
      default:
        read_file();
        break;
    }
  }

  void read_file() {
    const std::shared_ptr<RemoteFiles> files = open_remote(kOut);
    auto one = sample_.files.begin();
    std::advance(one, shared->chance.below(sample_.files.size()));
    const UniqueFd fd = files->open(one->first, one->second.size(), sha256(as_bytes(one->second)));
    std::string content(one->second.size(), '\0');
    read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(content)), one->first);
    compare(one->first, content, sample_.files);
  }

  void read_samples() {
    const PackedDataset dataset{fs::path(kOut)};
    std::exception_ptr failure;
    for (std::uint64_t left = shared->chance.below(2 * dataset.size()); left > 0; --left) {
      try {
        read_sample(dataset);
      } catch (const Error&) {
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  void read_sample(const PackedDataset& dataset) {
    const std::size_t i = shared->chance.below(dataset.size());
    const std::uint64_t next = shared->chance.below(dataset.size());
    if (shared->chance.once_in(2)) dataset.prefetch({&next, 1});
    std::vector<std::byte> bytes;
    dataset.read(i, bytes);
    const PackedDataset::Place at = dataset.place(i);
    compare(dataset.index(at.shard)->path(at.row), as_text(bytes), sample_.images);
  }

  const fs::path cache_;
  const std::uint64_t most_;
  const Sample& sample_;
  const bool damage_;  ///< there may be some between images
};

}  // namespace

/// Some programs read a dataset in the bucket through one cache, open and close its files, clear
/// and verify the cache.
void readers_of_a_cache(World& world, const Sample& sample, const fs::path& disk) {
  put_sample(world, sample, kPrefix);
  const fs::path cache = disk / "cache";
  const std::uint64_t most = kSizes[world.chance.below(std::size(kSizes))];
  const CachePromise promise(cache, most, sample, world.faults.damage);
  std::vector<Command> commands;
  const std::uint64_t count = 1 + world.chance.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    commands.push_back({.name = "reader", .machine = 0, .body = [&] {
                          Reader reader(cache, most, sample, world.faults.damage);
                          reader.read_some();
                          return std::string();
                        }});
  }
  std::uint64_t looked = 0;
  world.check = [&] {
    promise.check_size();
    if (++looked % 64 == 0) promise.check_runs();
  };
  Operator(world, std::move(commands)).run();
  promise.check_runs();
}

}  // namespace packhorse::simulation

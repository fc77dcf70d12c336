// Damages a dataset in one place at a time, and prints what verification and the reader make of it.
// One process tries thousands of damages.
//
//     damage_shards DATASET < PLAN
//
// A line of the plan is "flip FILE OFFSET BIT" or "cut FILE SIZE"; the damage is undone afterwards.
// Each line of the plan gives a line:
//
//     found named payload sample reader
//
// The first four are 0 or 1: damage was found; all findings name the file; the damage lies in an
// image or a field; a finding names that sample. The last is "noticed", "same" or "WRONG": whether
// reading the whole shard gave an error, or the packed bytes. Ends with exit code 1 when it cannot
// go on.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/verify/verify.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;

/// One damage, undone by the destructor.
class Damage {
 public:
  Damage(const fs::path& path, std::uint64_t offset, int bit) : path_(path), at_(offset) {
    bytes_ = read(1);
    std::byte other = bytes_[0] ^ std::byte(1 << bit);
    write(Bytes(&other, 1));
  }
  Damage(const fs::path& path, std::uint64_t size) : path_(path), at_(size) {
    bytes_ = read(fs::file_size(path) - size);
    fs::resize_file(path, size);
  }
  ~Damage() { write(bytes_); }
  Damage(const Damage&) = delete;
  Damage& operator=(const Damage&) = delete;

 private:
  std::vector<std::byte> read(std::size_t size) const {
    std::vector<std::byte> bytes(size);
    read_exactly(open_for_reading(path_).get(), at_, bytes, path_);
    return bytes;
  }
  void write(Bytes bytes) const {
    const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at_)) !=
                   static_cast<ssize_t>(bytes.size())) {
      fmt::print(stderr, "cannot restore {}\n", path_.string());
      std::_Exit(1);
    }
  }

  const fs::path path_;
  const std::uint64_t at_;
  std::vector<std::byte> bytes_;
};

class Bench {
 public:
  /// `whole`: a copy of the dataset at `path` that stays undamaged, with its mapped indexes.
  Bench(const fs::path& path, const fs::path& whole) : path_(path), whole_(whole) {
    options_.level = VerifyLevel::kFull;
    options_.jobs = 1;
    options_.walkers = walkers_of_this_program();
    options_.part.count = whole_.shards();
    for (std::size_t shard = 0; shard < whole_.shards(); ++shard)
      for_each_payload(whole_, shard, [&](Bytes payload) { truth_.push_back(xxh3(payload)); });
  }

  std::string judge(const std::string& file, std::optional<std::uint64_t> flipped) {
    const std::size_t shard = shard_of(file);
    options_.part.index = shard;
    const VerifyReport report = verify(path_, options_);
    const auto names = [&](const Finding& finding) {
      return finding.shard == file || finding.detail.find(file) != std::string::npos ||
             // dataset.json and SHA256SUMS vouch for each other.
             (is_proof(finding.shard) && is_proof(file));
    };
    const bool named = std::all_of(report.findings.begin(), report.findings.end(), names);
    const std::optional<std::int64_t> sample = flipped ? sample_at(file, *flipped) : std::nullopt;
    const bool sample_named =
        sample && std::any_of(report.findings.begin(), report.findings.end(),
                              [&](const Finding& finding) { return finding.sample == *sample; });
    return fmt::format("{} {} {} {} {}\n", report.ok() ? 0 : 1, named ? 1 : 0, sample ? 1 : 0,
                       sample_named ? 1 : 0, read_all(shard));
  }

 private:
  static bool is_proof(const std::string& name) {
    return name == kManifestName || name == kSumsName;
  }

  /// The shard that a data file or an index belongs to; the first shard for other files.
  std::size_t shard_of(const std::string& file) const {
    const std::vector<ShardRecord>& shards = whole_.manifest().shards;
    const auto found = std::find_if(shards.begin(), shards.end(), [&](const ShardRecord& record) {
      return record.file == file || record.index == file;
    });
    return found == shards.end() ? 0 : static_cast<std::size_t>(found - shards.begin());
  }

  /// The sample whose image or field holds the byte; in a compressed shard, whose frame.
  std::optional<std::int64_t> sample_at(const std::string& file, std::uint64_t at) const {
    const std::size_t shard = shard_of(file);
    const ShardRecord& record = whole_.manifest().shards[shard];
    if (record.file != file) return std::nullopt;
    const auto held = whole_.index(shard);
    const ShardIndex& index = *held;
    const auto holds = [&](ByteRange range) { return at >= range.offset && at < range.end(); };
    for (std::size_t row = 0; row < index.size(); ++row) {
      bool hit = holds(index.compressed() ? index.frame(row).stored : index.range(row));
      for (std::size_t f = 0; f < index.fields().size() && !index.compressed(); ++f)
        hit = hit || (index.has_field(row, f) && holds(index.field_range(row, f)));
      if (hit) return static_cast<std::int64_t>(record.first_sample + row);
    }
    return std::nullopt;
  }

  template <class Take>
  static void for_each_payload(const PackedDataset& dataset, std::size_t shard, const Take& take) {
    const ShardRecord& record = dataset.manifest().shards[shard];
    std::vector<std::byte> bytes;
    for (std::size_t i = record.first_sample; i < record.first_sample + record.samples; ++i) {
      dataset.read(i, bytes);
      take(bytes);
      for (std::size_t f = 0; f < dataset.fields().size(); ++f) {
        if (dataset.read_field(i, f, bytes)) take(bytes);
      }
    }
  }

  /// Opens the dataset anew and reads the whole shard, continuing after refused samples.
  const char* read_all(std::size_t shard) const {
    std::size_t at = 0;
    for (std::size_t before = 0; before < shard; ++before) at += payloads(before);
    bool noticed = false, wrong = false;
    try {
      const PackedDataset dataset(path_);
      const ShardRecord& record = whole_.manifest().shards[shard];
      const std::size_t fields = whole_.fields().size();
      std::vector<std::byte> bytes;
      for (std::size_t i = record.first_sample; i < record.first_sample + record.samples; ++i) {
        for (std::size_t piece = 0; piece <= fields; ++piece) try {
            if (piece > 0 && !whole_.index(shard)->has_field(i - record.first_sample, piece - 1))
              continue;
            const std::size_t place = at++;
            if (piece == 0) {
              dataset.read(i, bytes);
            } else if (!dataset.read_field(i, piece - 1, bytes)) {
              bytes.clear();
            }
            wrong = wrong || xxh3(bytes) != truth_[place];
          } catch (const Error&) {
            noticed = true;
          }
      }
    } catch (const Error&) {
      noticed = true;
    }
    return wrong ? "WRONG" : noticed ? "noticed" : "same";
  }

  std::size_t payloads(std::size_t shard) const {
    const auto held = whole_.index(shard);
    const ShardIndex& index = *held;
    std::size_t count = index.size();
    for (std::size_t row = 0; row < index.size(); ++row) {
      for (std::size_t f = 0; f < index.fields().size(); ++f)
        count += index.has_field(row, f) ? 1u : 0u;
    }
    return count;
  }

  const fs::path path_;
  const PackedDataset whole_;
  VerifyOptions options_;
  std::vector<std::uint64_t> truth_;  ///< hashes of all images and fields
};

int run(const fs::path& path) {
  const fs::path copy = path.native() + ".whole";
  fs::remove_all(copy);
  fs::copy(path, copy, fs::copy_options::recursive);
  Bench bench(path, copy);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind, file;
    std::uint64_t place = 0;
    int bit = 0;
    words >> kind >> file >> place >> bit;
    std::string verdict;
    if (kind == "flip") {
      const Damage damage(path / file, place, bit);
      verdict = bench.judge(file, place);
    } else {
      const Damage damage(path / file, place);
      verdict = bench.judge(file, std::nullopt);
    }
    fmt::print("{}", verdict);
  }
  fs::remove_all(copy);
  return 0;
}

}  // namespace

}  // namespace packhorse

int main(int argc, char** argv) {
  if (packhorse::is_walk_call(argc, argv)) return packhorse::serve_walks();
  try {
    if (argc == 2) return packhorse::run(argv[1]);
    fmt::print(stderr, "usage: damage_shards DATASET < PLAN\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "damage_shards: {}\n", error.what());
  }
  return 1;
}

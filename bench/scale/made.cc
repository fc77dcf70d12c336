#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/hash.h"
#include "packhorse/dataset/class_list.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/shard_index.h"
#include "packhorse/reports/report_json.h"
#include "probe.h"

namespace packhorse::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSide = 4;                                   // of a grey picture
constexpr std::uint64_t kImageBytes = std::uint64_t{kSide} * kSide;  // all zero
constexpr std::size_t kClasses = 1000;

/// A dataset whose indexes are those of a packed one, and whose shards are holes: pictures of zeros
/// that take no room. It cannot be verified, as its manifest has no hashes of the shards.
class Made final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("out", out_, "The dataset")->required();
    app.add_option("--samples", samples_)->required()->check(CLI::PositiveNumber);
    app.add_option("--shards", shards_)->required()->check(CLI::PositiveNumber);
    app.add_option("--sample-bytes", stride_, "Distance between samples, 16 or more")
        ->capture_default_str();
  }

  int run(const std::stop_token&) override {
    make_directories(out_);
    Manifest manifest;
    manifest.version = "made";
    manifest.format = "wds";
    manifest.format_version = 1;
    manifest.image = "raw";
    manifest.samples = samples_;
    manifest.payload_bytes = samples_ * kImageBytes;
    manifest.accounting.seen = manifest.accounting.packed = samples_;
    manifest.class_samples.resize(kClasses);
    std::vector<std::string> classes;
    for (std::size_t i = 0; i < kClasses; ++i) {
      classes.push_back(fmt::format("class{:04}", i));
      manifest.class_samples[i] = samples_ / kClasses + (i < samples_ % kClasses ? 1 : 0);
    }
    for (std::uint64_t shard = 0; shard < shards_; ++shard)
      manifest.shards.push_back(write_shard(shard));
    const std::string names = class_list_text(classes);
    put(kClassesName, names);
    manifest.files.push_back({std::string(kClassesName), names.size(), sha256(as_bytes(names))});
    put(kManifestName, manifest.serialise());
    return program::kDone;
  }

 private:
  void put(std::string_view name, std::string_view text) const {
    AtomicFile file(out_ / name);
    file.write(as_bytes(text));
    file.commit();
  }

  ShardRecord write_shard(std::uint64_t shard) const {
    const std::uint64_t first = samples_ / shards_ * shard + std::min(shard, samples_ % shards_);
    const std::uint64_t count = samples_ / shards_ + (shard < samples_ % shards_ ? 1 : 0);
    static const std::string kZeros(kImageBytes, '\0');
    static const std::uint64_t kHash = xxh3(as_bytes(kZeros));
    ShardIndexWriter index;
    index.reserve(count, count * 24);
    IndexEntry entry;
    entry.hash = kHash;
    entry.image = {ImageKind::kRaw, 1, 8, 1, kSide, kSide};
    for (std::uint64_t i = 0; i < count; ++i) {
      entry.range = {i * stride_, kImageBytes};
      entry.label = static_cast<std::int64_t>((first + i) % kClasses);
      entry.key = fmt::format("{:09}", first + i);
      entry.path = fmt::format("class{:04}/{}.png", entry.label, entry.key);
      index.add(entry);
    }
    ShardRecord record;
    record.file = fmt::format("shard-{:06}.tar", shard);
    record.index = fmt::format("shard-{:06}.index", shard);
    record.samples = count;
    record.first_sample = first;
    record.bytes = count * stride_;
    const UniqueFd data(::open((out_ / record.file).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    if (!data || ::ftruncate(data.get(), static_cast<off_t>(record.bytes)) != 0)
      throw_errno("make", out_ / record.file);
    const std::string text = index.serialise(record.bytes);
    std::ofstream(out_ / record.index, std::ios::binary) << text;
    record.index_bytes = text.size();
    record.index_sha256 = sha256(as_bytes(text));
    record.sha256 = std::string(record.index_sha256.size(), '0');
    return record;
  }

  fs::path out_;
  std::uint64_t samples_ = 0, shards_ = 0, stride_ = 512;
};

}  // namespace

std::unique_ptr<program::Command> make_made() { return std::make_unique<Made>(); }

}  // namespace packhorse::bench

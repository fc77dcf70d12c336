#include <fmt/format.h>
#include <sys/statvfs.h>

#include <bit>

#include "base/file.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packing/pack_job.h"
#include "transforms/transform.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kIndexRow = 96;    // of the index, without its texts
constexpr std::uint64_t kIndexField = 24;  // for each extra field
constexpr std::uint64_t kShard = 64u << 10;

std::string size_text(std::uint64_t bytes) {
  constexpr double kMiB = 1 << 20;
  const double mib = static_cast<double>(bytes) / kMiB;
  return mib < 10'000 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

}  // namespace

std::uint64_t estimate_bytes(const std::vector<SplitWork>& splits, const Listing& listing,
                             const PackOptions& options) {
  const TransformKind& transform = find_transform(options.image);
  const Format& format = find_format(options.format);
  const std::uint64_t row = kIndexRow + kIndexField * listing.stored_fields().size();
  std::uint64_t total = 0;
  for (const SplitWork& split : splits) {
    for (std::size_t shard = 0; shard < split.plan.shards(); ++shard) {
      if (options.task && shard % options.task->count != options.task->index) continue;
      total += kShard;
      for (std::size_t p = split.plan.shard_begin(shard); p < split.plan.shard_begin(shard + 1);
           ++p) {
        const EntryTable::Facts facts = split.listing.entries.facts(split.plan.entry(p));
        const auto fields = static_cast<std::uint64_t>(std::popcount(facts.fields));
        const std::uint64_t text = split.listing.entries.path_length(split.plan.entry(p));
        const std::uint64_t bytes = transform.estimate(options.transform, facts.size);
        const bool small = format.small_sample > 0 && bytes <= format.small_sample && fields == 0;
        total += bytes + facts.field_bytes + fields * format.field_overhead + row + text +
                 (small ? format.small_overhead : format.sample_overhead);
      }
    }
  }
  return total;
}

void check_space(std::uint64_t bytes, const fs::path& staging) {
  struct statvfs disk {};
  if (::statvfs(staging.c_str(), &disk) != 0 || disk.f_blocks == 0) return;  // size unknown
  std::uint64_t there = 0;
  for (const fs::directory_entry& entry : entries_below(staging)) {
    std::error_code gone;  // a task beside us may rename its files meanwhile
    const std::uint64_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) there += size;
  }
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t needed = bytes > there ? bytes - there : 0;
  if (needed <= free) return;
  throw Error(
      ErrorKind::kNoSpace,
      fmt::format("the dataset may need {} more on this disk, but only {} is free",
                  size_text(needed), size_text(free)),
      staging,
      "free some space, choose another target, or skip this check with `check_space=false`");
}

}  // namespace packhorse

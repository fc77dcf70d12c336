#include "packhorse/verify.h"

#include <numeric>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/pack.h"
#include "packhorse/packed_dataset.h"
#include "packhorse/source.h"
#include "parallel.h"
#include "verify_shard.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// dataset.json and SHA256SUMS vouch for each other: each can be made again from the other files,
/// byte by byte.
void verify_manifest(const fs::path& dataset, const Manifest& manifest,
                     std::vector<Finding>& findings) {
  const auto add = [&](std::string_view file, std::string detail) {
    findings.push_back({"manifest", std::string(file), -1, {}, 0, 0, std::move(detail)});
  };
  const std::string text = read_text(dataset / kManifestName);
  const std::string sum = sha256(as_bytes(text));
  bool sums_readable = true;
  std::string sums;
  try {
    sums = read_text(dataset / kSumsName);
  } catch (const Error& error) {
    add(kSumsName, error.what());
    sums_readable = false;
  }
  if (text != manifest.serialise()) {
    add(kManifestName, "it is not written the way packhorse writes it");
  } else if (sums_readable &&
             sums.find(sum + "  " + std::string(kManifestName) + "\n") == std::string::npos) {
    add(kManifestName, "its SHA-256 is not the one in SHA256SUMS");
  } else if (sums_readable && sums != manifest.sums()) {
    add(kSumsName, "it does not say what dataset.json says");
  }
  const std::uint64_t labelled = std::accumulate(manifest.class_samples.begin(),
                                                 manifest.class_samples.end(), std::uint64_t{0});
  std::uint64_t samples = 0;
  for (const ShardRecord& shard : manifest.shards) samples += shard.samples;
  if (!manifest.accounting.balanced() || manifest.accounting.packed != manifest.samples ||
      samples != manifest.samples || labelled != manifest.samples) {
    add(kManifestName, "its counts do not add up");
  }
}

}  // namespace

VerifyReport verify(const fs::path& dataset, const VerifyOptions& options, Progress* progress,
                    std::stop_token stop) {
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  VerifyReport report;
  if (!is_packed_dataset(dataset))
    static_cast<void>(find_datasets(dataset));  // throws with the right advice
  Manifest manifest;
  report.files = 1;
  try {
    manifest = Manifest::load(dataset);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt) throw;
    report.findings.push_back({"manifest", std::string(kManifestName), -1, {}, 0, 0, error.what()});
    return report;
  }
  progress->total_samples += manifest.samples;
  const std::uint64_t bytes_before = progress->bytes;
  verify_manifest(dataset, manifest, report.findings);
  for (const FileRecord& file : manifest.files) {
    verify_file(dataset, file.file, file.bytes, file.sha256, report.findings);
  }
  std::vector<std::vector<Finding>> findings(manifest.shards.size());
  const int jobs = options.jobs > 0 ? options.jobs : available_cpus();
  run_parallel(jobs, manifest.shards.size(), [&](std::size_t shard) {
    findings[shard] =
        verify_shard(dataset, manifest, manifest.shards[shard], options.level, *progress, stop);
  });
  for (std::vector<Finding>& some : findings) {
    report.findings.insert(report.findings.end(), some.begin(), some.end());
  }
  report.files += 1 + manifest.files.size() + 2 * manifest.shards.size();
  report.samples = manifest.samples;
  report.bytes = progress->bytes - bytes_before;
  return report;
}

}  // namespace packhorse

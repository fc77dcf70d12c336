#include "packhorse/reader/dataset.h"

#include <algorithm>
#include <utility>

#include "base/choices.h"
#include "base/paths.h"
#include "dataset/dataset_kinds.h"
#include "dataset/remote_files.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::reader {

namespace fs = std::filesystem;

namespace {

/// pack() builds in `<out>.partial`; the future dataset (with its splits) lies in `data/` there.
void refuse_staging(const fs::path& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  const fs::path above = folder.parent_path();
  for (const auto& [staging, data] :
       {std::pair(folder, fs::path("data")), std::pair(above, folder.filename()),
        std::pair(above.parent_path(), above.filename())}) {
    if (staging.extension() != ".partial" || data != "data") continue;
    throw Error(ErrorKind::kNotFound,
                "this is a staging directory, not a dataset: packing has not finished", path,
                "run the same `packhorse pack` command again, which continues where it stopped, "
                "then open '" +
                    fs::path(staging).replace_extension().string() + "'");
  }
}

bool holds_datasets(const fs::path& path) {
  if (!is_folder(path)) return false;
  const std::vector<fs::directory_entry> entries = entries_in(path);
  return std::ranges::any_of(
      entries, [](const fs::directory_entry& entry) { return is_packed_dataset(entry.path()); });
}

}  // namespace

std::size_t choose_split(const std::vector<std::string>& splits, const std::string& wanted,
                         const fs::path& path) {
  const auto find = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(splits, name) - splits.begin());
  };
  if (wanted.empty() && splits.size() == 1 && splits.front().empty()) return 0;
  const std::size_t chosen = find(wanted.empty() ? "train" : wanted);
  if (chosen < splits.size()) return chosen;
  if (splits.size() == 1 && splits.front().empty()) {
    throw Error(ErrorKind::kUsage, "it has no splits, and so no split '" + wanted + "'", path,
                "leave out the split");
  }
  throw Error(ErrorKind::kUsage,
              wanted.empty() ? "it has several splits, and none is called 'train'"
                             : "it has no split '" + wanted + "'",
              path, choice_advice(wanted, splits));
}

std::shared_ptr<const Dataset> Dataset::open(const fs::path& path, const std::string& split,
                                             OddClasses odd) {
  const bool remote = open_remote(path) != nullptr;
  if (!remote) refuse_staging(path);
  if (is_packed_dataset(path)) {
    // A split's own directory was named; naming the split as well is no contradiction.
    if (!split.empty()) choose_split({Manifest::load(path).split}, split, path);
    return open_packed(path);
  }
  if (remote || holds_datasets(path)) {
    const std::vector<fs::path> datasets = find_datasets(path);
    std::vector<std::string> names;
    for (const fs::path& dataset : datasets) names.push_back(dataset.filename().string());
    return open_packed(datasets[choose_split(names, split, path)]);
  }
  return open_folder(path, split, odd);
}

const std::vector<std::string>& Dataset::fields() const {
  static const std::vector<std::string> kNone;
  return kNone;
}

const std::vector<TargetRecord>& Dataset::targets() const {
  static const std::vector<TargetRecord> kNone;
  return kNone;
}

std::uint64_t Dataset::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const fs::path& file : files()) {
    std::error_code code;
    bytes += fs::file_size(file, code);
    if (code) throw Error(ErrorKind::kIo, "cannot tell its size: " + code.message(), file);
  }
  return bytes;
}

Error error_at(const Dataset& dataset, std::size_t i, const Error& error) {
  return {error.kind(), dataset.describe(i) + ": " + error.what(), error.path(), error.advice(),
          error.key()};
}

}  // namespace packhorse::reader

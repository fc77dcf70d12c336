#include "sources/layout/source_contents.h"

#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

namespace {

constexpr std::uint64_t kMostLookedAt = std::uint64_t{64} << 20;  // bytes of an image

/// NumPy files beside images hold what belongs to them: depths, features.
void leave_out_arrays(SourceContents& contents) {
  EntryTable& images = contents.images;
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < images.size(); ++i) arrays += naming::has_npy_name(images.path_of(i));
  if (arrays == 0 || arrays == images.size()) return;
  std::set<std::string> folders(contents.folders.begin(), contents.folders.end());
  images.relabel([&](std::size_t i) -> std::optional<std::int64_t> {
    std::string path = images.path_of(i);
    if (!naming::has_npy_name(path)) return 0;
    folders.emplace(naming::directory_of(path));
    contents.others.push_back({std::move(path), naming::kNotAnImage, {}});
    return std::nullopt;
  });
  contents.folders.assign(folders.begin(), folders.end());
}

void leave_out_matching(SourceContents& contents, const std::vector<std::string>& globs) {
  if (globs.empty()) return;
  for (SourceContents::Other& other : contents.others)
    if ((other.rule.empty() || other.rule == naming::kNotAnImage) && matches_any(globs, other.path))
      other.rule = naming::kExcluded;
  EntryTable& images = contents.images;
  std::set<std::string> emptied;
  images.relabel([&](std::size_t i) -> std::optional<std::int64_t> {
    std::string path = images.path_of(i);
    if (!matches_any(globs, path)) return 0;
    emptied.emplace(naming::directory_of(path));
    contents.others.push_back({std::move(path), naming::kExcluded, {}});
    return std::nullopt;
  });
  std::erase_if(contents.datasets, [&](const std::string& folder) {
    return matches_any(globs, naming::join(folder, kManifestName)) && emptied.insert(folder).second;
  });
  // A folder that holds no image directly may be empty.
  for (const std::string& folder : contents.folders) {
    const std::string inside = folder + '/';
    const auto below = emptied.lower_bound(inside);
    if ((matches_any(globs, folder) || matches_any(globs, inside)) &&
        (below == emptied.end() || !below->starts_with(inside)))
      emptied.insert(folder);
  }
  contents.emptied.assign(emptied.begin(), emptied.end());
}

}  // namespace

SourceContents::Look careful_look(
    std::function<void(const EntryTable::Entry&, std::vector<std::byte>&)> read) {
  return [read = std::move(read)](const EntryTable::Entry& image) {
    std::vector<std::byte> bytes;
    if (image.size > kMostLookedAt) return bytes;
    try {
      read(image, bytes);
    } catch (const Error& error) {  // packing will reject it
      if (error.kind() == ErrorKind::kInterrupted) throw;
      bytes.clear();
    }
    return bytes;
  };
}

void leave_out(SourceContents& contents, const std::vector<std::string>& globs) {
  leave_out_matching(contents, globs);
  leave_out_arrays(contents);
}

}  // namespace packhorse

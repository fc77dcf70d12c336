#include "sources/annotated/annotated_kind.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "annotations/sample_targets.h"
#include "base/option.h"
#include "base/paths.h"
#include "codecs/image_header.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/targets/objects.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/source.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr auto kAnnotated = [] {
  std::array<SourceKind, 4 + kExportSources.size()> kinds = {kCocoSource, kHfSource, kYoloSource,
                                                             kVocSource};
  std::ranges::copy(kExportSources, kinds.begin() + 4);
  return kinds;
}();

/// Whether the options leave open what the source is.
bool says_nothing(const ListOptions& options) {
  return options.targets.empty() && options.labels.empty() && !options.split_folders &&
         options.classes_at == 0 && options.fields.places.empty() &&
         !(options.fields.names && !options.fields.names->empty()) && !options.allow_odd_classes &&
         options.classes.empty();
}

constexpr std::size_t kMostFolders = 64;  // that are looked into

std::string_view kind_of(const fs::path& folder, FolderLook& look) {
  for (const SourceKind& kind : kAnnotated) {
    try {
      if (kind.probe(folder, look)) return kind.name;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): then it is none that could be advised
    }
  }
  return {};
}

}  // namespace

bool is_annotated(const SourceKind& kind) {
  for (const SourceKind& one : kAnnotated)
    if (one.name == kind.name) return true;
  return false;
}

std::vector<std::string_view> annotated_kinds() {
  std::vector<std::string_view> names;
  for (const SourceKind& kind : kAnnotated) names.push_back(kind.name);
  return names;
}

std::string_view annotated_kind(const fs::path& path, const ListOptions& options,
                                FolderLook& look) {
  if (is_file(path)) return kYoloSource.probe(path, look) ? kYoloSource.name : std::string_view();
  if (!is_folder(path) || !says_nothing(options)) return {};
  std::vector<std::string_view> found;
  for (const SourceKind& kind : kAnnotated)
    if (kind.probe(path, look)) found.push_back(kind.name);
  if (found.empty()) refuse_texts_beside_images(path, look);
  if (found.empty()) return {};
  if (found == std::vector{kHfSource.name}) hf::refuse_labels_too(path, look);
  if (found.size() == 1) return found.front();
  std::string commands;
  for (const std::string_view name : found)
    commands += (commands.empty() ? "" : ", or ") +
                call({"pack", {path.native(), "OUT"}, {{"source_kind", std::string(name)}}});
  throw Error(ErrorKind::kUsage, "the folder has annotations in several notations", path,
              "say which are meant, or give `targets=`, beside your other options: " + commands);
}

std::vector<std::string> annotated_folders_in(const fs::path& path, const ListOptions& options) {
  if (!is_folder(path) || !says_nothing(options)) return {};
  FolderLook look;
  std::vector<fs::path> folders = {path};
  std::size_t first_inside = 0;
  std::vector<std::string> lines;
  for (int depth = 0; depth < 2; ++depth) {
    const std::size_t end = folders.size();
    for (std::size_t i = first_inside; i < end; ++i) {
      for (const std::string& name : look.folders_in(folders[i])) {
        if (folders.size() > kMostFolders) return lines;
        const fs::path folder = folders[i] / name;
        const std::string_view kind = kind_of(folder, look);
        if (kind.empty()) {
          folders.push_back(folder);
        } else {
          lines.push_back("the source " + naming::shell_word(folder.native()) +
                          "  has images with their objects (" + std::string(kind) + ")");
        }
      }
    }
    first_inside = end;
  }
  return lines;
}

std::vector<std::byte> annotated_objects(const Source& source, const Listing& listing,
                                         const SplitListing& split, std::size_t entry) {
  const SampleTargets& targets = *listing.made_targets;
  ImageInfo image = targets.told_image(split, entry);
  if (image.width == 0) {
    Input input;
    source.read(split, entry, input);
    const ProbeResult probe = probe_image(input.bytes, {});
    if (!probe.info) throw Error(ErrorKind::kCorrupt, "its image has no header that can be read");
    image = *probe.info;
  }
  return encode_objects(targets.objects(split, entry, {}, image));
}

}  // namespace packhorse

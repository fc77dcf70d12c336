#include "packhorse/sources/source.h"

#include <algorithm>
#include <array>

#include "annotations/extra_targets.h"
#include "annotations/sample_targets.h"
#include "packhorse/base/choices.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "sources/adoptable.h"
#include "sources/archive/source_archive.h"
#include "sources/arrays/source_arrays.h"
#include "sources/folder/source_folder.h"
#include "sources/list/list_file.h"
#include "sources/list/source_list.h"
#include "sources/packed/source_packed.h"
#include "sources/unread_files.h"
#include "sources/webdataset/shard_names.h"
#include "sources/webdataset/source_webdataset.h"

namespace packhorse {

namespace fs = std::filesystem;

void refuse(const Doubt& doubt, const fs::path& source) {
  throw Error(ErrorKind::kUsage, doubt.what, source, doubt.advice);
}

std::span<const SourceKind> all_sources() {
  static constexpr std::array kSources = {kPackedSource,  kWebDatasetSource, kArraysSource,
                                          kArchiveSource, kListSource,       kFolderSource};
  return kSources;
}

namespace {

/// The kind of source that the options imply; empty when they imply none.
std::string_view kind_by_options(const fs::path& path, const ListOptions& options) {
  std::error_code code;
  if (options.split_folders && !options.split_folders->empty() && is_shard_folder(path))
    return kFolderSource.name;
  if (!options.labels.empty() && fs::is_regular_file(path, code) &&
      !ListFile::has_list_name(path) && webdataset::holds_bare_images(path)) {
    return kArchiveSource.name;
  }
  return {};
}

}  // namespace

std::unique_ptr<Source> open_source(const fs::path& path, std::string_view named,
                                    const ListOptions& options) {
  refuse_url(path.native());
  std::error_code code;
  if (!fs::exists(path, code) && !is_shard_pattern(path)) {
    throw Error(ErrorKind::kNotFound, "the source does not exist", path, "check the path");
  }
  const std::string_view wanted = named.empty() ? kind_by_options(path, options) : named;
  std::string kinds;
  std::vector<std::string> names;
  for (const SourceKind& kind : all_sources()) {
    // A folder is a source whatever it holds, so what holds none that can be read is told before.
    if (wanted.empty() && kind.name == kFolderSource.name) refuse_unread_files(path);
    if (wanted.empty() ? kind.probe(path) : kind.name == wanted) return kind.open(path);
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.summary);
    names.emplace_back(kind.name);
  }
  if (!wanted.empty()) {
    throw Error(ErrorKind::kUsage, "there is no kind of source '" + std::string(wanted) + "'", {},
                choice_advice(wanted, names));
  }
  const std::string adopted = advice_to_adopt(path);
  throw Error(ErrorKind::kUnsupported, "packhorse cannot read the source", path,
              adopted.empty() ? "give one of these: " + kinds : adopted);
}

Listing list_source(Source& source, const ListOptions& options) {
  if (options.targets.empty()) {
    Listing listing = source.list(options);
    for (const TargetRecord& target : source.targets()) {
      if (std::find(listing.fields.begin(), listing.fields.end(), target.name) !=
          listing.fields.end())
        listing.targets.push_back(target);
    }
    return listing;
  }
  const TargetOptions& wanted = options.targets;
  wanted.validate();
  ListOptions with_targets = options;
  const bool say_classes = wanted.has_objects() || wanted.has(ExtraTarget::Kind::kClasses);
  if (say_classes && options.labels.empty() && source.folders_are_classes())
    with_targets.labels.unlabelled = true;
  std::shared_ptr<SampleTargets> objects;
  std::shared_ptr<ExtraTargets> extras;
  if (wanted.has_objects()) objects = std::make_shared<SampleTargets>(wanted);
  if (!wanted.extras.empty()) extras = std::make_shared<ExtraTargets>(wanted);
  Listing listing = source.list(with_targets);
  if (objects) {
    objects->attach(listing);
    listing.targets.push_back(objects->target());
  }
  if (extras) {
    extras->attach(listing);
    for (TargetRecord& target : extras->targets()) listing.targets.push_back(std::move(target));
  }
  listing.made_fields = wanted.made_fields();
  listing.made_targets = objects;
  listing.made_extras = extras;
  return listing;
}

}  // namespace packhorse

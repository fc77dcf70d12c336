#include "sources/source.h"

#include <algorithm>
#include <array>

#include "annotations/extra_targets.h"
#include "annotations/sample_targets.h"
#include "base/choices.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/paths.h"
#include "labels/label_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_kind.h"
#include "sources/annotated/annotated_readings.h"
#include "sources/kinds.h"
#include "sources/list/list_file.h"
#include "sources/unread_files.h"
#include "sources/webdataset/shard_names.h"

namespace packhorse {

namespace fs = std::filesystem;

void Source::read_field(const SplitListing& split, std::size_t i, std::size_t field,
                        std::vector<std::byte>& out) const {
  Input input;
  read(split, i, input);
  out.clear();
  for (std::size_t n = 0; n < input.fields; ++n)
    if (input.extras[n].field == field) out = std::move(input.extras[n].bytes);
}

void refuse(const Doubt& doubt, const fs::path& source) {
  throw Error(ErrorKind::kUsage, doubt.what, source, doubt.advice);
}

namespace {

constexpr SourceKind with_annotated_readings(SourceKind kind) {
  kind.open = [](const fs::path& path) { return folder::open_with(path, annotated_readings); };
  return kind;
}

}  // namespace

std::span<const SourceKind> all_sources() {
  static constexpr auto kSources = [] {
    constexpr std::array kOwn = {kPackedSource,  kWebDatasetSource, kArraysSource,
                                 kArchiveSource, kListSource,       kCocoSource,
                                 kHfSource,      kYoloSource,       kVocSource};
    std::array<SourceKind, kOwn.size() + kExportSources.size() + 1> all{};
    std::ranges::copy(kExportSources, std::ranges::copy(kOwn, all.begin()).out);
    all.back() = with_annotated_readings(kFolderSource);
    return all;
  }();
  return kSources;
}

bool may_name_urls(const fs::path& source) {
  return std::ranges::any_of(all_sources(), [&](const SourceKind& kind) {
    return kind.may_name_urls != nullptr && kind.may_name_urls(source);
  });
}

namespace {

/// The kind of source that the options imply; empty when they imply none.
std::string_view kind_by_options(const fs::path& path, const ListOptions& options,
                                 FolderLook& look) {
  if (options.split_folders && !options.split_folders->empty() && is_shard_folder(path, look))
    return kFolderSource.name;
  if (!options.labels.empty() && is_file(path) && !ListFile::has_list_name(path) &&
      webdataset::holds_bare_images(path)) {
    return kArchiveSource.name;
  }
  const FieldChoice& fields = options.fields;
  const bool places = !fields.places.empty() || (fields.names && !fields.names->empty());
  if (options.targets.notation == TargetOptions::Notation::kVoc && !places && is_folder(path))
    return kVocSource.name;
  return {};
}

void attach(std::shared_ptr<SampleTargets> targets, Listing& listing) {
  targets->attach(listing);
  listing.targets = {targets->target()};
  listing.made_fields = targets->made_fields();
  listing.made_targets = std::move(targets);
}

bool is_voc(const TargetOptions& targets) {
  return targets.notation == TargetOptions::Notation::kVoc;
}

/// A path without its last extension.
std::string_view stem_of(std::string_view path) {
  const std::size_t name = path.size() - naming::last_name(path).size();
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos || dot <= name ? path : path.substr(0, dot);
}

/// Refuses images that would share a file of annotations, 1.xml of 1.jpg and 1.png: it is about one
/// of them, and the other may be its mask.
void refuse_shared_annotations(const Listing& listing, const TargetOptions& targets,
                               const std::vector<std::string>& excluded) {
  if (targets.notation != TargetOptions::Notation::kVoc &&
      targets.notation != TargetOptions::Notation::kYolo)
    return;
  for (const SplitListing& split : listing.splits) {
    const auto path_of = [&](std::size_t i) { return split.glob_path(split.entries.path_of(i)); };
    std::vector<std::pair<std::uint64_t, std::size_t>> stems;
    for (std::size_t i = 0; i < split.entries.size(); ++i) {
      const std::string path = path_of(i);
      if (split.entries.facts(i).fields != 0 && !matches_any(excluded, path))
        stems.emplace_back(xxh3(as_bytes(stem_of(path))), i);
    }
    std::ranges::sort(stems);
    const auto same = std::ranges::adjacent_find(stems, {}, [](auto& one) { return one.first; });
    if (same == stems.end()) continue;
    throw Error(ErrorKind::kUsage,
                "two images would get the same annotations: " +
                    naming::quoted({path_of(same->second), path_of(std::next(same)->second)}),
                {}, "leave one of them out: `exclude=GLOB`");
  }
}

/// Whether there are targets beside objects whose classes may be given.
bool names_other_classes(const TargetOptions& given) {
  return given.has(ExtraTarget::Kind::kMask) || given.has(ExtraTarget::Kind::kClasses);
}

/// Refuses classes of objects that people cannot tell apart, unless --target-classes lists them.
void check_classes(const SampleTargets& objects, const TargetOptions& given) {
  const std::vector<std::string> classes = objects.target().classes;
  if (std::ranges::find(classes, "") != classes.end())
    throw Error(ErrorKind::kUsage, "a class of the objects has an empty name", {},
                "name it in the annotations");
  if (!given.classes.empty() && (given.names_object_classes() || !names_other_classes(given))) {
    if (given.classes == classes) return;
    throw Error(ErrorKind::kUsage,
                "the annotations name the classes of their objects themselves, and "
                "`target_classes=` lists others, or another order: they have " +
                    naming::quoted(classes),
                {}, "leave out `target_classes=`");
  }
  const auto same = lookalikes_in(classes);
  if (!same) return;
  throw Error(ErrorKind::kUsage,
              "the object classes " +
                  naming::quoted({classes[same->first], classes[same->second]}) +
                  " differ only in letter case or in their Unicode form",
              {},
              "write them alike in the annotations; if they are two classes, list all in the order "
              "of their labels: `targets=` with `target_classes=FILE`, a name a line");
}

/// Opens what says which objects are in the images of a listing. What VOC's files mean depends on
/// all of them.
std::shared_ptr<SampleTargets> open_objects(TargetOptions targets, const Source& source,
                                            const ListOptions& options, Listing& listing) {
  if (is_voc(targets)) look_at_voc(source, listing, targets);
  auto objects = std::make_shared<SampleTargets>(std::move(targets));
  check_classes(*objects, options.targets);
  return objects;
}

using Extras = std::shared_ptr<ExtraTargets>;

Extras open_extras(const TargetOptions& wanted) {
  return wanted.extras.empty() ? nullptr : std::make_shared<ExtraTargets>(wanted);
}

/// Finds what is said of the images beside their objects, where that is asked for.
void attach(const Extras& extras, const TargetOptions& wanted, Listing& listing) {
  if (!extras) return;
  extras->attach(listing);
  for (TargetRecord& target : extras->targets()) listing.targets.push_back(std::move(target));
  for (std::string& name : wanted.extra_fields()) listing.made_fields.push_back(std::move(name));
  listing.made_extras = extras;
}

/// Keeps the targets that the samples come with, where none of their kind is given.
void keep_targets(const Source& source, Listing& listing) {
  for (const TargetRecord& target : source.targets()) {
    const auto& fields = listing.fields;
    if (std::ranges::find(fields, target.name) == fields.end()) continue;
    const auto same = [&](const TargetRecord& other) { return other.kind == target.kind; };
    const auto given = std::ranges::find_if(listing.targets, same);
    if (given == listing.targets.end()) {
      listing.targets.push_back(target);
    } else if (given->name != target.name) {
      throw Error(ErrorKind::kUsage,
                  "the source has a target of the kind " + target.kind + " already: its field '" +
                      target.name + "'",
                  {}, "leave that field out with `fields=`, or leave out `targets=`");
    }
  }
}

/// Whether targets say what the images show, so that these need no classes.
bool say_classes(const TargetOptions& wanted) {
  return wanted.has_objects() || wanted.has(ExtraTarget::Kind::kClasses);
}

/// Lists a source that knows itself which objects are in its images. Classes that are given without
/// `targets=` are those of these objects.
Listing list_with_own_targets(Source& source, const ListOptions& options) {
  const TargetOptions& given = options.targets;
  const bool fits = !given.has_objects() ||
                    (given.notation == source.own_targets().notation && !given.makes_records());
  if (!fits)
    throw Error(ErrorKind::kUsage, "the source names its annotations itself, and `targets=` others",
                {}, "leave out `targets=`, or give `source_kind=folder`");
  given.validate();
  TargetOptions wanted = given;
  for (const ExtraTarget& own : source.own_targets().extras)
    if (!given.has(own.kind)) wanted.extras.push_back(own);
  const Extras extras = open_extras(wanted);
  Listing listing = source.list(options);
  TargetOptions own = source.own_targets();
  refuse_shared_annotations(listing, own, options.exclude);
  if (own.classes.empty() && own.names_object_classes() &&
      (given.has_objects() || !names_other_classes(given)))
    own.classes = given.classes;
  attach(open_objects(std::move(own), source, options, listing), listing);
  attach(extras, wanted, listing);
  return listing;
}

std::unique_ptr<Source> with_kind(std::unique_ptr<Source> source, std::string_view kind) {
  source->opened_as = kind;
  return source;
}

}  // namespace

std::unique_ptr<Source> open_source(const fs::path& path, std::string_view named,
                                    const ListOptions& options) {
  const auto data = options.targets.data_yaml();
  if (is_url(path.native()) && data)
    throw Error(ErrorKind::kUnsupported, "a data.yaml of YOLO names files on a disk", path,
                "copy the source to a disk, or mount it");
  if (is_url(path.native())) return with_kind(objects::open(path, named), "url");
  if (data) {
    if (!named.empty() && named != kYoloSource.name)
      throw Error(ErrorKind::kUsage,
                  "a data.yaml of YOLO says which files are read, whatever the kind of source",
                  path, "leave out `source_kind=`");
    return with_kind(yolo::open(path, *data), kYoloSource.name);
  }
  if (!path_exists(path) && !is_shard_pattern(path)) {
    throw Error(ErrorKind::kNotFound, "the source does not exist", path, "check the path");
  }
  FolderLook look;
  const std::string_view by_options = named.empty() ? kind_by_options(path, options, look) : named;
  const std::string_view wanted =
      by_options.empty() ? annotated_kind(path, options, look) : by_options;
  std::vector<std::string> names;
  for (const SourceKind& kind : all_sources()) {
    // A folder is a source whatever it holds, so what holds none that can be read is told before.
    if (wanted.empty() && kind.name == kFolderSource.name) refuse_unread_files(path, look);
    // Only a probe that is asked for may refuse what it cannot tell.
    if (wanted.empty() ? !is_annotated(kind) && kind.probe(path, look) : kind.name == wanted) {
      if (options.fields.key_dot && kind.name != kWebDatasetSource.name)
        throw Error(
            ErrorKind::kUsage,
            "`key_dot=` says where the keys in WebDataset shards end, and the source is none", path,
            "leave it out, or give `source_kind=webdataset`");
      return with_kind(kind.open(path), kind.name);
    }
    names.emplace_back(kind.name);
  }
  if (!wanted.empty()) {
    throw Error(ErrorKind::kUsage, "there is no kind of source '" + std::string(wanted) + "'", {},
                choice_advice(wanted, names));
  }
  const std::string adopted = advice_to_adopt(path);
  throw Error(ErrorKind::kUnsupported, "packhorse cannot read the source", path,
              adopted.empty() ? "give a folder of images, an archive, a list (.csv, .tsv, .jsonl), "
                                "shards, arrays (.npy, .npz), a data.yaml or a packed dataset "
                                "(docs/sources.md)"
                              : adopted);
}

Listing list_source(Source& source, const ListOptions& options) {
  const TargetOptions::Notation own = source.own_targets().notation;
  if (own != TargetOptions::Notation::kNone) return list_with_own_targets(source, options);
  if (const TargetOptions& given = options.targets;
      !given.has_objects() && !given.classes.empty() && !names_other_classes(given))
    throw Error(ErrorKind::kUsage,
                "`target_classes=` names the classes of objects, and the source comes without "
                "annotations of objects",
                {}, "leave it out, or say where the annotations are: `targets=`");
  if (options.targets.empty()) {
    Listing listing = source.list(options);
    keep_targets(source, listing);
    return listing;
  }
  const TargetOptions& wanted = options.targets;
  wanted.validate();
  ListOptions with_targets = options;
  if (say_classes(wanted) && options.labels.empty() && source.folders_are_classes())
    with_targets.labels.unlabelled = true;
  std::shared_ptr<SampleTargets> objects;
  if (wanted.has_objects() && !is_voc(wanted)) {
    objects = std::make_shared<SampleTargets>(wanted);
    check_classes(*objects, wanted);
  }
  const Extras extras = open_extras(wanted);
  Listing listing = source.list(with_targets);
  if (source.folders_are_classes()) refuse_shared_annotations(listing, wanted, options.exclude);
  if (is_voc(wanted)) objects = open_objects(wanted, source, options, listing);
  if (objects) attach(std::move(objects), listing);
  attach(extras, wanted, listing);
  keep_targets(source, listing);
  return listing;
}

}  // namespace packhorse

#include "packing/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/option_values.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packing/select.h"
#include "sources/source.h"
#include "transforms/transform.h"

namespace packhorse {

namespace {

using Kind = Option::Kind;
using Effect = Option::Effect;
using Value = PackOption::Value;
namespace values = option_values;

#define MEMBER PACKHORSE_MEMBER

template <class Member>
constexpr Value plain(Member member) {
  return values::plain<PackOptions>(member);
}
template <class Member>
constexpr Value flag(Member member) {
  return values::flag<PackOptions>(member);
}
template <class Member>
constexpr Value off(Member member) {
  return values::flag<PackOptions, false>(member);
}
template <class Member>
constexpr Value bytes(Member member) {
  return values::bytes<PackOptions>(member);
}
template <const auto& names, class Member>
constexpr Value choice(Member member) {
  return values::choice<PackOptions, names>(member);
}

template <auto kAll>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& kind : kAll()) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(kind)>>) {
      names.emplace_back(kind->name);
    } else {
      names.emplace_back(kind.name);
    }
  }
  return names;
}

constexpr Value kCompress = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      options.zstd_level = parse_zstd_level(given.front());
    },
    [](const PackOptions& options) {
      return options.zstd_level == 0 ? "" : fmt::format("zstd:{}", options.zstd_level);
    }};

/// A packed dataset keeps its order unless a seed is given.
constexpr Value kSeed = {[](PackOptions& options, const OptionValues& given, const Option& option) {
                           values::read(given, option, options.plan.seed);
                           options.reorder = true;
                         },
                         [](const PackOptions& options) {
                           return std::to_string(options.plan.seed) +
                                  (options.reorder ? " given" : "");
                         }};

constexpr Value kSplitFolders = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      options.list.split_folders = parse_split_folders(given.front());
    },
    [](const PackOptions& options) {
      std::string text;
      if (!options.list.split_folders) return text;
      for (const SplitFolder& one : *options.list.split_folders)
        text += values::joined({one.split, one.folder});
      return text + "none";
    }};

constexpr Value kLabels = {[](PackOptions& options, const OptionValues& given, const Option&) {
                             options.list.labels.files = parse_labels(given);
                           },
                           [](const PackOptions& options) {
                             std::string text;
                             for (const auto& [split, file] : options.list.labels.files)
                               text += values::joined({split, file.native()});
                             return text;
                           }};

constexpr Value kFields = {[](PackOptions& options, const OptionValues& given, const Option&) {
                             options.list.fields.names = FieldChoice::parse(given.front()).names;
                           },
                           [](const PackOptions& options) {
                             const auto& names = options.list.fields.names;
                             return names ? values::joined(*names) + "none" : std::string();
                           }};

constexpr Value kKeyDot = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      options.list.fields.key_dot = parse_key_dot(given.front());
    },
    [](const PackOptions& options) {
      const auto& dot = options.list.fields.key_dot;
      return std::string(!dot ? "" : *dot == KeyDot::kFirst ? "first" : "last");
    }};

template <bool kRequired>
constexpr Value kFieldPlaces = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      for (const std::string& text : given)
        options.list.fields.places.push_back(parse_field_place(text, kRequired));
    },
    [](const PackOptions& options) {
      std::string text;
      for (const FieldPlace& place : options.list.fields.places)
        if (place.required == kRequired) text += values::joined({place.name, place.pattern});
      return text;
    }};

constexpr Value kTargets = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      for (const std::string& text : given) options.list.targets.add(text);
    },
    [](const PackOptions& options) {
      const TargetOptions& targets = options.list.targets;
      std::string text(targets.name());
      for (const auto& [split, file] : targets.files)
        text += values::joined({split, file.native()});
      for (const ExtraTarget& extra : targets.extras)
        text += values::joined({std::string(name_of(extra.kind)), extra.place, extra.split});
      return text;
    }};

constexpr Value kSplit = {[](PackOptions& options, const OptionValues& given, const Option&) {
                            options.select.split = SelectOptions::parse_split(given.front());
                          },
                          [](const PackOptions& options) {
                            return fmt::format("{}", fmt::join(options.select.split, ":"));
                          }};

constexpr Value kMaxRejects = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      options.max_rejects = RejectLimit::parse(given.front());
    },
    [](const PackOptions& options) { return options.max_rejects.text(); }};

constexpr Value kTask = {
    [](PackOptions& options, const OptionValues& given, const Option&) {
      options.task = TaskShare::parse(given.front());
    },
    [](const PackOptions& options) {
      return options.task ? fmt::format("{}/{}", options.task->index, options.task->count) : "";
    }};

/// What few rows have.
struct More {
  char letter = 0;
  std::string_view off = {}, value_name = {};
  std::int64_t least = 0;
  std::uint64_t most = ~std::uint64_t{0};
  std::string_view zero = {};
  std::vector<std::string> (*choices)() = nullptr;
  bool shows_default = false, required = false;
  std::array<std::string_view, 2> excludes = {};
};

PackOption row(OptionGroup group, std::string_view name, Kind kind, Effect effect, Value value,
               std::string_view help, const More& more = {}) {
  return {{name, help, kind, effect, group, more.letter, more.off, more.value_name, more.least,
           more.most, more.zero, more.choices, more.shows_default, more.required, more.excludes},
          value};
}

const std::vector<PackOption>& table() {
  using enum Option::Group;
  using enum Option::Kind;
  using enum Option::Effect;
  static const std::vector<PackOption> kTable = {
      row(kRun, "format", kChoice, kBytes, plain(MEMBER(format)), "Shard format",
          {.letter = 'f', .choices = names_of<all_formats>, .required = true}),
      row(kRun, "overwrite", kFlag, kNeither, flag(MEMBER(overwrite)),
          "Replace OUT in one step, once the new dataset is complete"),
      row(kRun, "dry_run", kFlag, kNeither, flag(MEMBER(dry_run)),
          "List the source and show splits, classes, labels and rejects; write nothing"),
      row(kRun, "jobs", kInteger, kNeither, plain(MEMBER(jobs)),
          "Threads; 0: one for each CPU that this process may use",
          {.letter = 'j', .shows_default = true}),

      row(kSource, "source_kind", kChoice, kListing, plain(MEMBER(source_kind)),
          "Read the source as this kind", {.choices = names_of<all_sources>}),
      row(kSource, "classes", kClassNames, kListing, plain(MEMBER(list.classes)),
          "File with one class name per line, in the order of the labels"),
      row(kSource, "split_folders", kNames, kListing, kSplitFolders,
          "Folders or archives in the source that are splits, e.g. train=Training,val=val.tar; "
          "none: no folder is one; default: by their names"),
      row(kSource, "classes_at", kInteger, kListing, plain(MEMBER(list.classes_at)),
          "Depth of the class folders: N folders below SOURCE, or below those of `split_folders=`; "
          "default: by the shape of SOURCE",
          {.value_name = "N", .least = 1, .most = 200}),
      row(kSource, "labels", kFiles, kListing, kLabels,
          "File of lines `path label` (also CSV, JSONL) that replaces class folders; val=FILE: for "
          "that split only"),
      row(kSource, "path_column", kScalar, kListing, plain(MEMBER(list.labels.path_column)),
          "Column of the labels file that names the image: its name in the header, or its number "
          "from 1"),
      row(kSource, "label_column", kScalar, kListing, plain(MEMBER(list.labels.label_column)),
          "Column of the labels file that has the label"),
      row(kSource, "split_column", kScalar, kListing, plain(MEMBER(list.labels.split_column)),
          "Column of the labels file that has the split; none: no column; default: the one called "
          "'split'"),
      row(kSource, "label_ids", kPath, kListing, plain(MEMBER(list.labels.ids)),
          "File of lines `ID NAME`: the class names of the IDs in the labels file"),
      row(kSource, "label_pattern", kText, kListing, plain(MEMBER(list.labels.pattern)),
          "Regular expression whose first group matches the class in an image's name, e.g. "
          "'^(.+)_[0-9]+\\.jpg$'; with a / it is matched against the path"),
      row(kSource, "unlabelled", kFlag, kListing, flag(MEMBER(list.labels.unlabelled)),
          "The images have no classes: all get the class 'unlabelled'"),
      row(kSource, "fields", kNames, kListing, kFields,
          "Extra fields to pack with x.jpg, e.g. json,seg.png for x.json and x.seg.png; none: no "
          "fields"),
      row(kSource, "key_dot", kChoice, kListing, kKeyDot,
          "WebDataset shards whose keys have dots: the dot of v1.00.jpg at which the key ends; "
          "default: decided for each key",
          {.choices =
               [] {
                 return std::vector<std::string>{"first", "last"};
               }}),
      row(kSource, "field_from", kNamedTexts, kListing, kFieldPlaces<true>,
          "Extra field from another folder of the source, e.g. seg.png=masks, or "
          "mask.gif=masks/{stem}_mask.gif; images without it are rejected",
          {.value_name = "NAME=PLACE"}),
      row(kSource, "optional_field_from", kNamedTexts, kListing, kFieldPlaces<false>,
          "The same for a field that some images do not have", {.value_name = "NAME=PLACE"}),
      row(kSource, "targets", kFiles, kListing, kTargets,
          "Annotations. Boxes: coco:FILE, hf:FILE, yolo:FILE; voc or yolo (fields xml or txt); "
          "labelme:FOLDER, cvat:FILE, table:FILE[:xywh], label-studio:FILE, via:FILE, dota:FOLDER, "
          "kitti:FOLDER, createml:FILE; "
          "coco-records:FILE (field json, categories from FILE). Also: classes:TABLE[:COLUMN] "
          "(multi-label), caption:FIELD, caption:TABLE, mask:FIELD. val=coco:FILE: for that split "
          "only",
          {.value_name = "KIND[:PLACE]"}),
      row(kSource, "target_classes", kClassNames, kBytes, plain(MEMBER(list.targets.classes)),
          "File with one class name per line: of the objects (all but coco and a data.yaml), the "
          "masks or the labels of classes:TABLE"),
      row(kSource, "target_keypoints", kInteger, kBytes, plain(MEMBER(list.targets.keypoints)),
          "yolo: number of keypoints of each object", {.least = 1}),
      row(kSource, "keypoint_numbers", kInteger, kBytes,
          plain(MEMBER(list.targets.keypoint_numbers)),
          "yolo: numbers per keypoint: 2 for x y, 3 for x y visibility", {.least = 2, .most = 3}),
      row(kSource, "memory", kSize, kNeither, bytes(MEMBER(memory)),
          "Memory for the list of samples; what does not fit goes to a temporary file (slower)",
          {.shows_default = true}),

      row(kSelection, "include", kTexts, kListing, plain(MEMBER(select.include)),
          "Pack only files that match one of these globs; a glob with a / is matched against the "
          "path, others against the name"),
      row(kSelection, "exclude", kTexts, kListing, plain(MEMBER(select.exclude)),
          "Skip files that match one of these globs"),
      row(kSelection, "limit", kInteger, kListing, plain(MEMBER(select.limit)),
          "At most N images per split", {.least = 1}),
      row(kSelection, "samples_per_class", kInteger, kListing,
          plain(MEMBER(select.samples_per_class)), "At most N images per class and split",
          {.least = 1}),
      row(kSelection, "split", kText, kListing, kSplit,
          "Divide into train and val (and test) with these weights, e.g. 90:10, by a hash of each "
          "image's bytes"),
      row(kSelection, "deduplicate", kChoice, kListing,
          choice<kDuplicatesNames>(MEMBER(select.duplicates)),
          "Images with identical bytes, over all splits: report them, or drop all but the first",
          {.choices = values::words<kDuplicatesNames>}),

      row(kAccepted, "allow_odd_classes", kFlag, kNeither, flag(MEMBER(list.allow_odd_classes)),
          "Accept class folders that are otherwise refused: a single one, empty ones, or ones "
          "named like a split, images, masks or labels"),
      row(kAccepted, "max_rejects", kScalar, kNeither, kMaxRejects,
          "Publish although up to N, or P%, of the inputs are rejected", {.shows_default = true}),
      row(kLimits, "max_pixels", kInteger, kRejects, plain(MEMBER(limits.pixels)),
          "Reject images with more pixels", {.shows_default = true}),
      row(kLimits, "max_scan_pixels", kInteger, kRejects, plain(MEMBER(limits.scan_pixels)),
          "Reject JPEGs whose pixels times scans are more (slow to decode)",
          {.shows_default = true}),
      row(kLimits, "max_decoded_bytes", kSize, kRejects, bytes(MEMBER(limits.decoded_bytes)),
          "Reject images that need more memory to decode, e.g. 2GiB", {.shows_default = true}),
      row(kLimits, "first_frame", kFlag, kRejects, flag(MEMBER(limits.first_frame)),
          "Accept animations and TIFFs of several pages; only their first picture counts"),
      row(kBands, "bands", kFlag, kRejects, flag(MEMBER(limits.bands)),
          "Accept images that are not grey or RGB: other numbers of bands, floating-point numbers"),
      row(kBands, "pages_as_bands", kFlag, kRejects, flag(MEMBER(limits.pages_as_bands)),
          "The same, and the pages of a TIFF become the bands of one image",
          {.excludes = {"first_frame"}}),
      row(kDecode, "decode", kFlag, kRejects, flag(MEMBER(decode)),
          "Also decode images that are stored unchanged, and reject damaged ones (slower)"),

      row(kImages, "image", kChoice, kBytes, plain(MEMBER(image)), "How the images are stored",
          {.choices = names_of<all_transforms>, .shows_default = true}),
      row(kImages, "short_side", kInteger, kBytes, plain(MEMBER(transform.short_side)),
          "resize: length of the short side, in pixels",
          {.least = 1, .most = 65535, .shows_default = true}),
      row(kImages, "quality", kInteger, kBytes, plain(MEMBER(transform.quality)),
          "resize: JPEG quality", {.least = 1, .most = 100, .shows_default = true}),
      row(kImages, "chroma", kChoice, kBytes, choice<kChromaNames>(MEMBER(transform.chroma)),
          "resize: chroma sampling, as in the source or 4:2:0",
          {.choices = values::words<kChromaNames>, .shows_default = true}),
      row(kImages, "restart_mcus", kInteger, kBytes, plain(MEMBER(transform.restart_mcus)),
          "roi, resize: about how many MCUs lie between two restart markers",
          {.least = 1, .most = 8192, .shows_default = true}),
      row(kImages, "size", kInteger, kBytes, plain(MEMBER(transform.size)),
          "raw: width and height, in pixels", {.least = 1, .most = 16384, .shows_default = true}),
      row(kImages, "fit", kChoice, kBytes, choice<kFitNames>(MEMBER(transform.fit)),
          "raw: crop to the centre, or letterbox",
          {.choices = values::words<kFitNames>, .shows_default = true}),
      row(kImages, "codec", kChoice, kBytes, choice<kCodecNames>(MEMBER(transform.codec)),
          "lossless: format of images that are not JPEGs",
          {.choices = values::words<kCodecNames>, .shows_default = true}),

      row(kShards, "shard_bytes", kSize, kListing, bytes(MEMBER(plan.shard_bytes)),
          "Target size of a shard, in bytes of the source, e.g. 1GiB; none: one shard per split",
          {.zero = "none", .shows_default = true}),
      row(kShards, "shard_samples", kInteger, kListing, plain(MEMBER(plan.shard_samples)),
          "Put exactly this many images into each shard",
          {.least = 1, .excludes = {"shard_bytes"}}),
      row(kShards, "seed", kInteger, kListing, kSeed,
          "Seed of the global shuffle; a packed dataset as source keeps its order without it",
          {.shows_default = true}),
      row(kShards, "shuffle", kOff, kListing, off(MEMBER(plan.shuffle)),
          "Keep the order of the source", {.off = "no-shuffle", .excludes = {"seed"}}),
      row(kShards, "compress", kText, kBytes, kCompress,
          "zstd or zstd:LEVEL (1 to 19), for formats that support it"),
      row(kShards, "check_space", kOff, kNeither, off(MEMBER(check_space)),
          "Pack even if the dataset may not fit on the disk", {.off = "no-space-check"}),

      row(kTasks, "task", kText, kNeither, kTask,
          "Pack only part I of N (0/8 ... 7/8) into OUT.partial; other processes, also on other "
          "machines, pack the others; publishes nothing",
          {.excludes = {"dry_run"}}),
      row(kTasks, "finish", kFlag, kNeither, flag(MEMBER(finish)),
          "Check that all parts are packed, and publish", {.excludes = {"task", "dry_run"}}),
      row(kStorage, "staging", kPath, kNeither, plain(MEMBER(staging)),
          "Directory for the unfinished shards of a dataset at a URL; it holds a few shards at a "
          "time; default: the URL's last part with .partial, in the working directory",
          {.value_name = "DIR"}),
  };
  return kTable;
}

#undef MEMBER

std::string name_of(const PackOptions& options, auto is_named) {
  std::string name;
  for (const PackOption& option : pack_options()) {
    if (!is_named(option)) continue;
    const std::string text = option.text(options);
    name += fmt::format("{} {} {}\n", option.name, text.size(), text);
  }
  return name;
}

}  // namespace

std::span<const PackOption> pack_options() { return table(); }

std::span<const PackOption> pack_options(OptionGroup group) {
  const auto [begin, end] = std::ranges::equal_range(table(), group, {}, &Option::group);
  return {begin, end};
}

const PackOption* find_pack_option(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &Option::name);
  return found == table().end() ? nullptr : &*found;
}

std::vector<const PackOption*> pack_options(OptionTaker taker) {
  using enum Option::Group;
  struct Taken {
    std::vector<OptionGroup> groups;
    std::vector<std::string_view> besides;
  };
  static const std::map<OptionTaker, Taken> kTaken = {
      {OptionTaker::kVerify, {{kSource, kSelection, kLimits, kBands, kDecode}, {"jobs"}}},
      {OptionTaker::kWriter,
       {{kLimits, kBands, kDecode, kImages, kShards},
        {"format", "overwrite", "jobs", "classes", "split", "deduplicate", "max_rejects"}}},
      {OptionTaker::kCheck, {{kSource, kLimits, kBands}, {"jobs", "memory", "include", "exclude"}}},
      {OptionTaker::kIndex,
       {{kBands},
        {"overwrite", "jobs", "classes", "fields", "targets", "target_classes", "target_keypoints",
         "max_rejects", "max_pixels", "first_frame"}}}};
  const auto taken = kTaken.find(taker);
  std::vector<const PackOption*> found;
  for (const PackOption& option : table()) {
    if (taken == kTaken.end() || std::ranges::count(taken->second.groups, option.group) > 0 ||
        std::ranges::count(taken->second.besides, option.name) > 0)
      found.push_back(&option);
  }
  return found;
}

void set_options(PackOptions& options, const GivenOptions& given) {
  set_given(options, pack_options(), given);
  for (const PackOption& option : pack_options(OptionGroup::kImages)) {
    if (option.name != "image" && given.contains(option.name))
      refuse_unused_setting(find_transform(options.image), option.name);
  }
  options.list.labels.validate();
  options.list.targets.validate();
}

std::string name_of_making(const PackOptions& options) {
  return name_of(options, [](const PackOption& option) {
    return option.effect == Effect::kBytes || option.effect == Effect::kRejects;
  });
}

std::string name_of_all(const PackOptions& options) {
  return name_of(options, [](const PackOption& option) {
    const bool names_files = option.kind == Kind::kPath || option.kind == Kind::kFiles;
    return option.effect != Effect::kNeither && !names_files;
  });
}

}  // namespace packhorse

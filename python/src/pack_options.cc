#include <algorithm>

#include "given.h"
#include "pack_bindings.h"
#include "packhorse/base/byte_size.h"
#include "packhorse/base/choices.h"
#include "packhorse/base/error.h"

namespace packhorse::python {

namespace {

/// A number of bytes, or text such as "256MiB".
void take_bytes(const Given& given, const char* name, std::uint64_t& to) {
  if (!given.has(name)) return;
  if (nb::isinstance<nb::str>(given[name])) {
    to = parse_byte_size(given.text(name));
  } else {
    given.take(name, to);
  }
}

template <class Value>
void take_choice(const Given& given, const char* name,
                 const std::vector<std::pair<std::string, Value>>& choices, Value& to) {
  if (!given.has(name)) return;
  const std::string text = given.text(name);
  std::vector<std::string> names;
  for (const auto& [choice, value] : choices) {
    if (choice == text) {
      to = value;
      return;
    }
    names.push_back(choice);
  }
  throw Error(ErrorKind::kUsage, std::string(name) + " cannot be '" + text + "'", {},
              choice_advice(text, names));
}

void take_image_options(const Given& given, PackOptions& options) {
  TransformOptions& image = options.transform;
  given.take("image", options.image);
  given.take("short_side", image.short_side);
  given.take("quality", image.quality);
  given.take("restart_mcus", image.restart_mcus);
  given.take("size", image.size);
  take_choice<TransformOptions::Chroma>(
      given, "chroma",
      {{"source", TransformOptions::Chroma::kAsSource}, {"420", TransformOptions::Chroma::k420}},
      image.chroma);
  take_choice<TransformOptions::Fit>(
      given, "fit",
      {{"crop", TransformOptions::Fit::kCrop}, {"letterbox", TransformOptions::Fit::kLetterbox}},
      image.fit);
  take_choice<TransformOptions::Codec>(
      given, "codec",
      {{"png", TransformOptions::Codec::kPng}, {"webp", TransformOptions::Codec::kWebp}},
      image.codec);
  const TransformKind& mode = find_transform(options.image);
  for (const std::string_view setting : all_settings()) {
    const std::string name(setting);
    if (given.has(name.c_str())) refuse_unused_setting(mode, setting);
  }
  given.take("decode", options.decode);
  given.take("first_frame", options.limits.first_frame);
  given.take("bands", options.limits.bands);
  given.take("pages_as_bands", options.limits.pages_as_bands);
  given.take("max_pixels", options.limits.pixels);
  given.take("max_scan_pixels", options.limits.scan_pixels);
  take_bytes(given, "max_decoded_bytes", options.limits.decoded_bytes);
}

void take_shard_options(const Given& given, PackOptions& options) {
  given.take("format", options.format);
  if (given.has("shard_bytes") && given.has("shard_samples"))
    throw Error(ErrorKind::kUsage, "shard_bytes and shard_samples exclude each other");
  take_bytes(given, "shard_bytes", options.plan.shard_bytes);
  given.take("shard_samples", options.plan.shard_samples);
  given.take("shuffle", options.plan.shuffle);
  if (given.has("seed") && !options.plan.shuffle)
    throw Error(ErrorKind::kUsage, "seed has no effect without shuffle", {}, "leave one out");
  given.take("seed", options.plan.seed);
  options.reorder = given.has("seed");
  if (given.has("compress")) options.zstd_level = parse_zstd_level(given.text("compress"));
}

void take_label_options(const Given& given, ListOptions& list) {
  given.take("classes", list.classes);
  std::vector<std::string> labels;
  given.take("labels", labels);
  list.labels.files = parse_labels(labels);
  given.take("path_column", list.labels.path_column);
  given.take("label_column", list.labels.label_column);
  if (given.has("label_ids")) list.labels.ids = given.path("label_ids");
  given.take("label_pattern", list.labels.pattern);
  given.take("unlabelled", list.labels.unlabelled);
  list.labels.validate();
}

void take_field_options(const Given& given, ListOptions& list) {
  if (given.has("fields")) list.fields = FieldChoice::parse(given.text("fields"));
  if (given.has("key_dot")) list.fields.key_dot = parse_key_dot(given.text("key_dot"));
  for (const bool required : {true, false}) {
    std::vector<std::string> places;
    given.take(required ? "field_from" : "optional_field_from", places);
    for (const std::string& text : places)
      list.fields.places.push_back(parse_field_place(text, required));
  }
}

void take_source_options(const Given& given, PackOptions& options) {
  given.take("source_kind", options.source_kind);
  take_label_options(given, options.list);
  if (given.has("split_folders"))
    options.list.split_folders = parse_split_folders(given.text("split_folders"));
  given.take("classes_at", options.list.classes_at);
  take_field_options(given, options.list);
  take_target_options(given, options.list.targets);
  given.take("allow_odd_classes", options.list.allow_odd_classes);
  SelectOptions& select = options.select;
  given.take("include", select.include);
  given.take("exclude", select.exclude);
  given.take("limit", select.limit);
  given.take("samples_per_class", select.samples_per_class);
  if (given.has("split")) select.split = SelectOptions::parse_split(given.text("split"));
  using Duplicates = SelectOptions::Duplicates;
  take_choice<Duplicates>(given, "deduplicate",
                          {{"report", Duplicates::kReport}, {"drop", Duplicates::kDrop}},
                          select.duplicates);
}

}  // namespace

void take_target_options(const Given& given, TargetOptions& targets) {
  std::vector<std::string> notations;
  given.take("targets", notations);
  for (const std::string& text : notations) targets.add(text);
  given.take("target_classes", targets.classes);
  given.take("target_keypoints", targets.keypoints);
  given.take("keypoint_numbers", targets.keypoint_numbers);
  targets.validate();
}

PackOptions pack_options(const nb::dict& values) {
  const Given given(values);
  PackOptions options;
  take_shard_options(given, options);
  take_image_options(given, options);
  take_source_options(given, options);
  if (given.has("max_rejects")) options.max_rejects = RejectLimit::parse(given.text("max_rejects"));
  given.take("jobs", options.jobs);
  take_bytes(given, "memory", options.memory);
  given.take("overwrite", options.overwrite);
  if (given.has("staging")) options.staging = given.path("staging");
  given.take("dry_run", options.dry_run);
  given.take("check_space", options.check_space);
  if (given.has("task")) options.task = TaskShare::parse(given.text("task"));
  given.take("finish", options.finish);
  return options;
}

}  // namespace packhorse::python

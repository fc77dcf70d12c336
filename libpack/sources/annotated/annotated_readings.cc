#include "sources/annotated/annotated_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "annotations/exports/export_notation.h"
#include "annotations/sample_targets.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/text.h"
#include "codecs/image_header.h"
#include "labels/label_rows.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_kind.h"
#include "sources/kinds.h"
#include "sources/layout/annotations_beside.h"
#include "sources/layout/folder_roles.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;
using Notation = TargetOptions::Notation;
using naming::shell_word;

constexpr std::size_t kMostTold = 3;
constexpr std::size_t kMostTried = 4;           // files of one kind
constexpr std::size_t kMostTables = 16;         // whose beginnings are looked at
constexpr std::size_t kMostLookedAt = 64;       // images, for objects
constexpr std::size_t kTextBytes = 1u << 20;    // of a text that shows its notation
constexpr std::size_t kUnnamedClasses = 1'000;  // where no file names those of YOLO

/// The split that a word of a file's name is: "train" for "instances_train2017.json".
std::string split_of_file(std::string_view path) {
  const std::string_view name = naming::last_name(path);
  std::string word;
  for (const char c : std::string(name.substr(0, name.find('.'))) + '_') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (std::string split = split_named(word); !split.empty()) return split;
    word.clear();
  }
  return {};
}

/// Places for a field, as --field-from has them: the folder of the text, without those that the
/// image lies in, too; with {split} for the name of a split.
Names places_of(const AnnotationsBeside::Texts& texts) {
  const Names of_image = naming::folders_of(texts.image), of_text = naming::folders_of(texts.text);
  std::size_t common = 0;
  while (common < std::min(of_image.size(), of_text.size()) &&
         of_image[of_image.size() - 1 - common] == of_text[of_text.size() - 1 - common])
    ++common;
  Names places;
  for (std::size_t left = common + 1; left-- > 0;) {
    std::string plain, by_split;
    for (std::size_t i = 0; i + left < of_text.size(); ++i) {
      plain = naming::join(plain, of_text[i]);
      by_split = naming::join(by_split, split_named(of_text[i]).empty() ? of_text[i] : "{split}");
    }
    if (by_split != plain) places.push_back(by_split);
    if (!plain.empty()) places.push_back(plain);
  }
  return places;
}

class Trials {
 public:
  Trials(const Layout& layout, const SourceContents& contents, const ListOptions& options,
         const fs::path& source)
      : contents_(contents),
        options_(options),
        source_(source),
        found_(annotations_beside(layout, contents)) {
    options_.targets = {};
  }

  Names run() {
    for (const std::string_view kind : annotated_kinds())
      try_objects(options_, kind, opt("source_kind", kind));
    try_data_yaml();
    try_coco();
    try_exports();
    try_tables();
    for (const AnnotationsBeside::Texts& texts : found_.texts) try_texts(texts);
    Names tables = found_.tables;
    for (const AnnotationsBeside::File& file : found_.files)
      if (file.notation.empty()) tables.push_back(file.path);
    for (const std::string& table : tables) try_labels(table);
    for (const AnnotationsBeside::File& file : found_.files) {
      if (file.notation.empty() || file.notation == kCoco || export_of(file.path)) continue;
      told_.push_back(fmt::format(
          "annotations of {} are not read: convert {} to COCO or VOC, and give "
          "{}, or {}",
          file.notation, word_of(file.path), opt("targets", "coco:FILE"), opt("targets", "voc")));
      break;
    }
    return std::move(told_);
  }

 private:
  std::string path_of(const std::string& path) const { return (source_ / path).native(); }
  std::string word_of(const std::string& path) const { return shell_word(path_of(path)); }

  /// How many objects the first images have. One that is damaged is told when it is packed.
  static std::size_t count_objects(const Source& source, const Listing& listing) {
    const SampleTargets& targets = *listing.made_targets;
    std::size_t looked_at = 0, objects = 0;
    for (const SplitListing& split : listing.splits) {
      for (std::size_t i = 0; i < split.entries.size() && looked_at++ < kMostLookedAt; ++i) {
        try {
          Input input;
          source.read(split, i, input);
          const ProbeResult image = probe_image(input.bytes);
          if (!image.info) continue;
          std::optional<std::string_view> text;
          for (std::size_t f = 0; f < input.fields; ++f)
            if (listing.fields[input.extras[f].field] == targets.options().field())
              text = as_text(input.extras[f].bytes);
          objects += targets.objects(split, i, text, *image.info).size();
        } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
        }
      }
    }
    return objects;
  }

  /// Lists the source as it would be for packing; how many images that are, or nothing when it does
  /// not work.
  static std::optional<std::uint64_t> images_of(const Listing& listing, bool rejects = false) {
    std::uint64_t images = 0;
    for (const SplitListing& split : listing.splits) {
      if (!split.rejects.empty() && !rejects) return std::nullopt;
      images += split.entries.size();
    }
    return listing.doubts.empty() && images > 0 ? std::optional(images) : std::nullopt;
  }

  /// The option that allows the rejects of a listing, and a sentence's end about them.
  static std::pair<std::string, std::string> allowed(const Listing& listing) {
    std::uint64_t count = 0;
    const Reject* first = nullptr;
    for (const SplitListing& split : listing.splits) {
      count += split.rejects.size();
      if (first == nullptr && !split.rejects.empty()) first = &split.rejects.front();
    }
    if (first == nullptr) return {};
    return {" " + opt("max_rejects", std::to_string(count)),
            fmt::format(", and rejects {}, such as {}: {}", count, first->path, first->reason)};
  }

  static bool some_lack_fields(const Listing& listing) {
    for (const SplitListing& split : listing.splits)
      for (std::size_t i = 0; i < split.entries.size(); ++i)
        if (split.entries.facts(i).fields == 0) return true;
    return false;
  }

  void tell(const std::string& option, std::uint64_t images, const std::string& what) {
    const std::uint64_t all = contents_.images.size();
    told_.push_back(fmt::format(
        "{}  packs {} image{} {}{}", option, images, images == 1 ? "" : "s", what,
        images < all ? fmt::format(", and leaves out {}", all - images) : std::string()));
  }

  /// Tells an option that packs objects; `rejects`: also one that packs not all of the images.
  bool try_objects(const ListOptions& options, std::string_view kind, const std::string& option,
                   bool rejects = false) {
    if (told_.size() == kMostTold || notations_.contains(options.targets.notation)) return false;
    try {
      const std::unique_ptr<Source> source = open_source(source_, kind, options);
      const Listing listing = list_source(*source, options);
      const auto images = images_of(listing, rejects);
      if (options.targets.notation == Notation::kVoc && some_lack_fields(listing)) return false;
      if (!images || !listing.made_targets || count_objects(*source, listing) == 0) return false;
      Names classes;
      for (const TargetRecord& target : listing.targets)
        if (target.name == kObjectsField) classes = target.classes;
      const std::string of = options.targets.classes.size() == kUnnamedClasses
                                 ? " (FILE names the classes, one a line)"
                                 : " of " + naming::quoted(classes);
      const auto [more, about] = allowed(listing);
      if (more.empty())
        tell(option, *images, "with their objects" + of);
      else
        told_.push_back(fmt::format("{}{}  packs {} image{} with their objects{}{}", option, more,
                                    *images, *images == 1 ? "" : "s", of, about));
      notations_.insert(listing.made_targets->options().notation);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void try_data_yaml() {
    std::size_t tried = 0;
    for (const SourceContents::Other& other : contents_.others) {
      const std::string name = lower_case(other.path);
      if (!(name.ends_with(".yaml") || name.ends_with(".yml")) || tried++ == kMostTried) continue;
      ListOptions options = options_;
      options.targets.add("yolo:" + (source_ / other.path).native());
      if (try_objects(options, {}, opt("targets", "yolo:" + path_of(other.path)))) return;
    }
  }

  /// The files of COCO: one for all images, or one for each split.
  void try_coco() {
    std::map<std::string, std::string> by_split;
    Names files;
    for (const AnnotationsBeside::File& file : found_.files) {
      if (file.notation != kCoco) continue;
      files.push_back(file.path);
      if (const std::string split = split_of_file(file.path); !split.empty())
        by_split.emplace(split, file.path);
    }
    if (files.size() > kMostTried) files.resize(kMostTried);
    for (const bool rejects : {false, true}) {
      if (by_split.size() > 1) {
        const auto [options, option] = with_files("coco:", by_split, "");
        if (try_objects(options, kFolderSource.name, option, rejects)) return;
      }
      for (const std::string& file : files) {
        const auto [options, option] = with_files("coco:", {{"", file}}, "");
        if (try_objects(options, kFolderSource.name, option, rejects)) return;
      }
    }
  }

  /// The options with targets of these files, by split, and how they are given.
  std::pair<ListOptions, std::string> with_files(const std::string& head,
                                                 const std::map<std::string, std::string>& by_split,
                                                 const std::string& tail) const {
    std::pair<ListOptions, std::string> with(options_, "");
    for (const auto& [split, file] : by_split) {
      const std::string before = (split.empty() ? "" : split + '=') + head;
      with.first.targets.add(before + (source_ / file).native() + tail);
      with.second +=
          (with.second.empty() ? "" : " ") + opt("targets", before + path_of(file) + tail);
    }
    return with;
  }

  /// Whether a line is that of a table which has a column for each class: 0 or 1.
  static bool has_class_columns(std::string_view line) {
    return line.find_first_not_of("01, \r") == std::string_view::npos &&
           line.find_first_of("01") != std::string_view::npos;
  }

  /// Whether a line is that of a table of boxes without a header: four numbers and a class.
  static bool has_box(std::string_view line) {
    for (int number = 0; number < 4; ++number) {
      const std::size_t end = line.find(',', 1);
      if (end == std::string_view::npos || !numbers_in(line.substr(1, end - 1), " ")) return false;
      line.remove_prefix(end);
    }
    return line.size() > 1 && line.find(',', 1) == std::string_view::npos;
  }

  /// Tables whose rows begin with the name of an image: one, or one in the folder of each split.
  std::map<std::string, std::string> tables_of(std::size_t rows_before,
                                               bool (*is)(std::string_view)) const {
    std::map<std::string, std::string> by_split;
    std::size_t looked_at = 0;
    for (const SourceContents::Other& other : contents_.others) {
      if (!lower_case(other.path).ends_with(".csv")) continue;
      if (++looked_at > kMostTables) break;
      const std::string head = text_head(source_ / other.path, kTextBytes);
      std::string_view line = head;
      for (std::size_t i = 0; i < rows_before; ++i)
        line.remove_prefix(std::min(line.find('\n') + 1, line.size()));
      line = line.substr(0, line.find_first_of("\r\n"));
      const std::size_t comma = std::min(line.find(','), line.size());
      if (naming::has_any_image_name(line.substr(0, comma)) && is(line.substr(comma)))
        by_split.emplace(split_named(naming::last_name(naming::directory_of(other.path))),
                         other.path);
    }
    return by_split;
  }

  void try_tables() {
    if (const auto boxes = tables_of(0, has_box); !boxes.empty()) {
      const auto [options, option] = with_files("table:", boxes, ":xyxy");
      try_objects(options, kFolderSource.name, option);
    }
    const auto classes = tables_of(1, has_class_columns);
    if (classes.empty() || told_.size() == kMostTold) return;
    const auto [options, option] = with_files("classes:", classes, ":*");
    try {
      const std::unique_ptr<Source> source = open_source(source_, kFolderSource.name, options);
      const Listing listing = list_source(*source, options);
      const auto images = images_of(listing);
      if (images && !listing.targets.empty())
        tell(option, *images,
             "with their classes " + naming::quoted(listing.targets.front().classes));
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): then it is no reading
    }
  }

  /// The notation of a file with the annotations of many images.
  const ExportNotation* export_of(const std::string& file) const {
    for (const ExportNotation& notation : export_notations())
      if (!notation.by_image && is_export_file(notation, source_ / file)) return &notation;
    return nullptr;
  }

  void try_exports() {
    Names files = found_.tables;
    for (const AnnotationsBeside::File& file : found_.files) files.push_back(file.path);
    if (files.size() > kMostTried) files.resize(kMostTried);
    for (const std::string& file : files) {
      const ExportNotation* const notation = export_of(file);
      if (notation == nullptr) continue;
      const std::string head =
          std::string(TargetOptions{.notation = notation->notation}.name()) + ':';
      ListOptions options = options_;
      options.targets.add(head + (source_ / file).native());
      try_objects(options, kFolderSource.name, opt("targets", head + path_of(file)));
    }
  }

  void try_texts(const AnnotationsBeside::Texts& texts) {
    const fs::path file = source_ / texts.text;
    const std::string head = text_head(file, kTextBytes);
    ListOptions options = options_;
    std::string option;
    if (texts.extension == TargetOptions{.notation = Notation::kVoc}.field()) {
      options.targets.notation = Notation::kVoc;
      option = opt("targets", "voc") + " ";
    } else if (texts.extension == TargetOptions{.notation = Notation::kYolo}.field() &&
               is_yolo_text(head)) {
      options.targets.notation = Notation::kYolo;
      const auto names = yolo_class_file(source_, file);
      option = opt("targets", "yolo") + " " +
               opt("target_classes", names ? names->native() : "FILE") + " ";
      if (names)
        options.targets.classes = read_class_file(*names);
      else
        for (std::size_t i = 0; i < kUnnamedClasses; ++i)
          options.targets.classes.push_back(std::to_string(i));
    }
    if (notations_.contains(options.targets.notation)) return;
    if (option.empty() || !try_places(texts, options, option)) try_places(texts, options_, "");
  }

  /// Tells the first place of such texts that works.
  bool try_places(const AnnotationsBeside::Texts& texts, const ListOptions& base,
                  const std::string& before) {
    const auto try_with = [&](const ListOptions& options, const std::string& option) {
      return options.targets.has_objects()
                 ? try_objects(options, kFolderSource.name, before + option)
                 : try_field(options, option, texts.extension);
    };
    if (naming::directory_of(texts.image) == naming::directory_of(texts.text)) {
      ListOptions options = base;
      options.fields.names = {texts.extension};
      return try_with(options, opt("fields", texts.extension));
    }
    for (const bool required : {true, false}) {
      for (const std::string& place : places_of(texts)) {
        ListOptions options = base;
        options.fields.places.push_back({texts.extension, place, required});
        if (try_with(options, opt(required ? "field_from" : "optional_field_from",
                                  texts.extension + '=' + place)))
          return true;
      }
    }
    return false;
  }

  /// Tells an option that keeps the texts beside the labels.
  bool try_field(const ListOptions& options, const std::string& option, const std::string& field) {
    return try_listing(options, option, fmt::format("with their texts as the field '{}'", field));
  }

  void try_labels(const std::string& table) {
    ListOptions options = options_;
    options.labels.files = {{"", source_ / table}};
    try_listing(options, opt("labels", path_of(table)), "");
  }

  bool try_listing(const ListOptions& options, const std::string& option, const std::string& what) {
    if (told_.size() == kMostTold) return false;
    try {
      const std::unique_ptr<Source> source = open_source(source_, kFolderSource.name, options);
      const Listing listing = list_source(*source, options);
      const auto images = images_of(listing);
      if (!images) return false;
      const Names& classes = listing.classes;
      tell(
          option, *images,
          fmt::format("of {} {}{}{}", classes.size(), classes.size() == 1 ? "class, " : "classes, ",
                      naming::quoted(classes), what.empty() ? "" : ", " + what));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  const SourceContents& contents_;
  ListOptions options_;
  const fs::path& source_;
  const AnnotationsBeside found_;
  Names told_;
  std::set<Notation> notations_;  ///< whose objects have been told
};

}  // namespace

Names annotated_readings(const Layout& layout, const SourceContents& contents,
                         const ListOptions& options, const fs::path& source) {
  if (contents.disk.empty() || !leaves_open(options)) return {};
  Names told = annotated_folders_in(source, options);
  for (std::string& one : Trials(layout, contents, options, source).run())
    if (told.size() < kMostTold) told.push_back(std::move(one));
  return told;
}

}  // namespace packhorse

#include "source_arguments.h"

#include <algorithm>

#include "packhorse/error.h"

namespace packhorse {

namespace {

/// "json,seg.png"; "none" is an empty list.
std::vector<std::string> parse_fields(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; text != "none" && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    const bool fit =
        !name.empty() && name.front() != '.' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
    if (!fit) {
      throw Error(
          ErrorKind::kUsage, "'" + name + "' is no name of a field", {},
          "say what follows the dot in its files, in lower case: json,txt,seg.png; or none");
    }
    names.push_back(name);
    at = comma + 1;
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

void SourceArguments::setup(CLI::App& app, const std::string& source,
                            const std::string& selection) {
  app.add_option("--source-kind", options_.source_kind, "Take the source as this kind, see below")
      ->group(source);
  app.add_option("--classes", classes_file_,
                 "File with one class name a line, which fixes the labels")
      ->group(source);
  app.add_option("--labels", options_.list.labels,
                 "File of lines `path label`, in the place of class folders")
      ->group(source);
  app.add_option(
         "--fields", fields_,
         "Extra fields to pack with x.jpg, e.g. json,seg.png for x.json and x.seg.png; none "
         "= leave out those the source brings")
      ->group(source);
  app.add_option("--max-pixels", options_.max_pixels, "Reject images with more pixels")
      ->capture_default_str()
      ->group(source);
  SelectOptions& select = options_.select;
  app.add_option(
         "--include", select.include,
         "Only what matches one of these globs: of the name, or of the path when it has a /")
      ->allow_extra_args(false)
      ->group(selection);
  app.add_option("--exclude", select.exclude, "Not what matches one of these globs")
      ->allow_extra_args(false)
      ->group(selection);
  app.add_option("--limit", select.limit, "At most N images a split")->group(selection);
  app.add_option("--sample-per-class", select.samples_per_class,
                 "At most N images of each class in a split")
      ->group(selection);
  app.add_option("--split", split_,
                 "Divide into train and val (and test), e.g. 90:10, by the images' bytes")
      ->group(selection);
  app.add_option("--deduplicate", deduplicate_,
                 "Inputs of identical bytes, over all splits: report them, or drop all but one")
      ->check(CLI::IsMember({"report", "drop"}))
      ->group(selection);
}

void SourceArguments::read() {
  if (!classes_file_.empty()) options_.list.classes = read_class_list(classes_file_);
  if (!fields_.empty()) options_.list.fields.names = parse_fields(fields_);
  if (!split_.empty()) options_.select.split = SelectOptions::parse_split(split_);
  using Duplicates = SelectOptions::Duplicates;
  if (!deduplicate_.empty())
    options_.select.duplicates = deduplicate_ == "drop" ? Duplicates::kDrop : Duplicates::kReport;
}

}  // namespace packhorse

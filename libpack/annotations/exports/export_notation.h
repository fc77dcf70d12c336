#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotations/exports/exported_images.h"
#include "packhorse/annotations/target_options.h"

namespace packhorse {

/// A file of annotations that is being read.
struct ExportFile {
  std::filesystem::path path;
  std::string_view text;  ///< all of it, as it is
  std::string name;       ///< where it lies in the folder that was given; "" for a file alone
  std::string choice;     ///< what the user said of its meaning: see ExportNotation::choices
  const TargetOptions& options;
  /// As the user names them; none: as the file does.
  const std::vector<std::string>& classes() const { return options.classes; }
};

/// How the annotations of a tool are written. All of them lie in one file, or each image has a file
/// of its own, and these lie in folders.
struct ExportNotation {
  TargetOptions::Notation notation;
  std::string_view title;      ///< as sentences have it: "LabelMe's annotations"
  std::string_view extension;  ///< of its files, in lower case
  /// Whether a text, of which that is the beginning, is such a file and cannot be mistaken.
  bool (*marks)(std::string_view head);
  /// Throws, without a path, Error(kUnsupported) for a file of another kind and Error(kCorrupt) for
  /// a damaged one. Whatever is wrong with one image, or with an object of it, is a problem of the
  /// image.
  void (*read)(const ExportFile& file, ExportedImages& out);
  bool by_image = false;
  /// Files of images lie in a folder whose name begins so, beside that of the images; "": beside
  /// the images.
  std::string_view label_folder = {}, image_folder = {};
  std::string_view choices = {};  ///< words that may follow the file's name; "": none, "*": any
};

std::span<const ExportNotation> export_notations();
/// Null for a notation that is none of these.
const ExportNotation* export_notation(TargetOptions::Notation notation);

/// Whether a file is of that notation, by its name and its beginning. Does not throw.
bool is_export_file(const ExportNotation& notation, const std::filesystem::path& file);

/// Reads one of the places of `options`: a file, "FILE:CHOICE", or all files in a folder, in the
/// order of their names. Throws Error(kUsage | kNotFound |
/// kIo), naming the file.
ExportedImages read_export(const ExportNotation& notation, const std::filesystem::path& place,
                           const TargetOptions& options);

/// A box turned clockwise around a point, as a polygon. Degrees.
void set_turned_box(AnnotatedObject& object, Point around, double degrees);
/// What a line of text says of one object; a sentence why it says none.
using ReadLine = std::string(std::string_view line, std::string& label, AnnotatedObject& object);
ReadLine read_dota_line, read_kitti_line;
/// Adds the objects of a text with a line each; `passes` are lines that say none (null: no line).
void read_lines(const ExportFile& file, ExportedImages& out, ReadLine* read,
                bool (*passes)(std::string_view));
/// Whether the first line of an object is one.
bool begins_with_line(std::string_view head, ReadLine* read, bool (*passes)(std::string_view));
std::vector<std::string_view> words_in(std::string_view line);
/// The points of a JSON list of [x, y]. Throws Error(kCorrupt), without a path.
std::vector<Point> points_of(std::string_view list);
/// Numbers separated by any of `separators`, all of a text; nothing where a word is none.
std::optional<std::vector<double>> numbers_in(std::string_view text, std::string_view separators);

void read_labelme(const ExportFile& file, ExportedImages& out);
void read_cvat(const ExportFile& file, ExportedImages& out);
void read_table(const ExportFile& file, ExportedImages& out);
void read_label_studio(const ExportFile& file, ExportedImages& out);
void read_via(const ExportFile& file, ExportedImages& out);
void read_dota(const ExportFile& file, ExportedImages& out);
void read_kitti(const ExportFile& file, ExportedImages& out);
void read_create_ml(const ExportFile& file, ExportedImages& out);

/// Whether the beginning of a file is one of these: the header of a table of boxes, a line of text.
bool is_box_table(std::string_view head);
bool is_dota_text(std::string_view head);
bool is_kitti_text(std::string_view head);

}  // namespace packhorse

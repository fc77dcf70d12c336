#include "annotations/exports/export_notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "annotations/json_values.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Notation = TargetOptions::Notation;

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kNamedFiles = 3;

bool has_all(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::all_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool marks_labelme(std::string_view head) {
  return has_all(head, {"\"shapes\""}) &&
         (has_all(head, {"\"imagePath\""}) || has_all(head, {"\"shape_type\""}));
}
bool marks_cvat(std::string_view head) {
  return has_all(head, {"<annotations", "<image "}) || has_all(head, {"<annotations", "<track "});
}
bool marks_label_studio(std::string_view head) {
  return head.substr(0, 16).find('[') != std::string_view::npos &&
         has_all(head, {"\"annotations\"", "\"result\""}) &&
         (has_all(head, {"\"data\""}) || has_all(head, {"\"original_width\""}));
}
bool marks_via(std::string_view head) {
  return has_all(head, {"\"_via_img_metadata\""}) ||
         has_all(head, {"\"filename\"", "\"regions\"", "\"shape_attributes\""}) ||
         has_all(head, {"region_shape_attributes", "region_attributes", "filename"});
}
bool marks_create_ml(std::string_view head) {
  return head.substr(0, 16).find('[') != std::string_view::npos &&
         has_all(head, {"\"annotations\"", "\"coordinates\"", "\"label\""});
}

constexpr std::array kExports = {
    ExportNotation{Notation::kLabelMe, "LabelMe's annotations", ".json", marks_labelme,
                   read_labelme, true},
    ExportNotation{Notation::kCvat, "CVAT's annotations", ".xml", marks_cvat, read_cvat},
    ExportNotation{.notation = Notation::kTable,
                   .title = "a table of boxes",
                   .extension = ".csv",
                   .marks = is_box_table,
                   .read = read_table,
                   .choices = "xyxy, xywh, cxcywh, each also with -pixels or -fractions"},
    ExportNotation{Notation::kLabelStudio, "Label Studio's annotations", ".json",
                   marks_label_studio, read_label_studio},
    ExportNotation{.notation = Notation::kVia,
                   .title = "VIA's annotations",
                   .extension = "",
                   .marks = marks_via,
                   .read = read_via,
                   .choices = "*"},
    ExportNotation{Notation::kDota, "DOTA's annotations", ".txt", is_dota_text, read_dota, true,
                   "labelTxt", "images"},
    ExportNotation{Notation::kKitti, "KITTI's annotations", ".txt", is_kitti_text, read_kitti, true,
                   "label_2", "image_2"},
    ExportNotation{Notation::kCreateMl, "CreateML's annotations", ".json", marks_create_ml,
                   read_create_ml}};

/// Files of a notation in a folder.
class ExportFolder {
 public:
  ExportFolder(const ExportNotation& notation, fs::path folder)
      : notation_(notation), folder_(std::move(folder)) {}

  /// Paths in the folder, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> found, direct;
    for (const fs::directory_entry& entry : entries_below(folder_)) {
      const std::string path = entry.path().lexically_relative(folder_).generic_string();
      std::error_code code;
      if (lower_case(entry.path().extension().native()) != notation_.extension ||
          !naming::passed_over_in(path).empty() || !entry.is_regular_file(code))
        continue;
      const std::string holder = entry.path().parent_path().filename().native();
      if (notation_.label_folder.empty() || holder.starts_with(notation_.label_folder))
        found.push_back(path);
      else if (naming::directory_of(path).empty())
        direct.push_back(path);
    }
    if (found.empty()) found = std::move(direct);
    std::ranges::sort(found);
    return found;
  }

  /// The image that a file is about, without an ending.
  std::string image_of(const std::string& file) const {
    const auto [folder, last] = naming::directory_and_name(file);
    const std::string stem = fs::path(last).stem().native();
    if (notation_.label_folder.empty() || folder.empty()) return naming::join(folder, stem);
    return naming::join(naming::join(naming::directory_of(folder), notation_.image_folder), stem);
  }

 private:
  const ExportNotation& notation_;
  fs::path folder_;
};

[[noreturn]] void refuse_export(const ExportNotation& notation, const fs::path& path,
                                const std::string& what) {
  throw Error(ErrorKind::kUsage, fmt::format("not {}: {}", notation.title, what), path,
              "correct the file, or give another one");
}

void read_folder(const ExportNotation& notation, const fs::path& folder, ExportFile file,
                 ExportedImages& out) {
  const ExportFolder files(notation, folder);
  std::vector<std::string> others;
  std::size_t read = 0;
  for (const std::string& path : files.files()) {
    obey_stop();
    file.path = folder / path;
    file.name = files.image_of(path);
    const MappedFile mapped(file.path);
    file.text = as_text(mapped.bytes());
    try {
      notation.read(file, out);
      ++read;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUnsupported) {
        others.push_back(path);
      } else if (error.kind() == ErrorKind::kCorrupt) {
        out.image(file.name).problem(printable(naming::last_name(path)), error.what());
        ++read;
      } else {
        throw;
      }
    }
  }
  if (read == 0)
    refuse_export(notation, folder,
                  fmt::format("the folder holds no such {} file", notation.extension));
  if (others.empty()) return;
  const std::size_t all = others.size();
  others.resize(std::min(all, kNamedFiles));
  out.note(fmt::format("{} {} files are not {}, and are not read: {}", all, notation.extension,
                       notation.title, naming::quoted(others)));
}

}  // namespace

std::span<const ExportNotation> export_notations() { return kExports; }

const ExportNotation* export_notation(Notation notation) {
  const auto found = std::ranges::find(kExports, notation, &ExportNotation::notation);
  return found == kExports.end() ? nullptr : &*found;
}

bool is_export_file(const ExportNotation& notation, const fs::path& file) try {
  const std::string ending = lower_case(file.extension().native());
  if (ending != notation.extension &&
      !(notation.extension.empty() && (ending == ".json" || ending == ".csv")))
    return false;
  const UniqueFd fd = open_for_reading(file);
  std::string head(std::min<std::uint64_t>(kHeadBytes, file_size(fd.get(), file)), '\0');
  read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(head)), file);
  return notation.marks(without_byte_order_mark(head));
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  return false;
}

ExportedImages read_export(const ExportNotation& notation, const fs::path& place,
                           const TargetOptions& options) {
  ExportFile file{place, {}, {}, {}, options};
  ExportedImages out;
  if (const std::size_t colon = place.native().rfind(':');
      !path_exists(place) && colon != std::string::npos && !notation.choices.empty()) {
    file.path = place.native().substr(0, colon);
    file.choice = place.native().substr(colon + 1);
  }
  if (is_folder(file.path)) {
    if (!notation.by_image)
      throw Error(ErrorKind::kUsage, "`targets=` names a folder, not a file with annotations",
                  file.path, "name the file in it");
    read_folder(notation, file.path, file, out);
    return out;
  }
  const MappedFile mapped(file.path);
  file.text = as_text(mapped.bytes());
  if (notation.by_image) file.name = fs::path(file.path).stem().native();
  try {
    notation.read(file, out);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
    refuse_export(notation, file.path, error.what());
  }
  if (out.images().empty()) refuse_export(notation, file.path, "it names no image");
  return out;
}

void set_turned_box(AnnotatedObject& object, Point around, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  std::vector<Point>& corners = object.polygons.emplace_back();
  for (const auto& [x, y] :
       {std::pair(object.left, object.top), std::pair(object.right, object.top),
        std::pair(object.right, object.bottom), std::pair(object.left, object.bottom)})
    corners.push_back({around.x + (x - around.x) * cosine - (y - around.y) * sine,
                       around.y + (x - around.x) * sine + (y - around.y) * cosine});
  box_from_polygons(object);
}

std::vector<Point> points_of(std::string_view list) {
  std::vector<Point> points;
  for (const std::string_view point : list_of(list, "points")) {
    const std::vector<double> numbers = numbers_of(point, "point");
    if (numbers.size() != 2) throw Error(ErrorKind::kCorrupt, "a point is not x and y");
    points.push_back({numbers[0], numbers[1]});
  }
  return points;
}

std::optional<std::vector<double>> numbers_in(std::string_view text, std::string_view separators) {
  std::vector<double> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
    if (text.empty()) return numbers;
    const std::string_view word = text.substr(0, text.find_first_of(separators));
    const auto number = parse_number<double>(word);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    text.remove_prefix(word.size());
  }
}

}  // namespace packhorse

// A table with a row a box: Kaggle, Open Images, VoTT, TensorFlow's and RetinaNet's CSV files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "annotations/exports/export_notation.h"
#include "base/option.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text.h"
#include "labels/table_syntax.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

enum class BoxForm { kCorners, kCornerAndSize, kCentreAndSize };
struct FormName {
  std::string_view name;
  BoxForm form;
};
constexpr std::array kForms = {FormName{"xyxy", BoxForm::kCorners},
                               FormName{"xywh", BoxForm::kCornerAndSize},
                               FormName{"cxcywh", BoxForm::kCentreAndSize}};

/// Columns that are a box, by their names as plain_name() has them.
struct BoxColumns {
  std::array<std::string_view, 4> names;
  std::string_view forms;  ///< of kForms: those that it may be
};
constexpr std::array kBoxColumns = {BoxColumns{{"xmin", "ymin", "xmax", "ymax"}, "xyxy"},
                                    BoxColumns{{"minx", "miny", "maxx", "maxy"}, "xyxy"},
                                    BoxColumns{{"x1", "y1", "x2", "y2"}, "xyxy"},
                                    BoxColumns{{"x0", "y0", "x1", "y1"}, "xyxy"},
                                    BoxColumns{{"left", "top", "right", "bottom"}, "xyxy"},
                                    BoxColumns{{"xtl", "ytl", "xbr", "ybr"}, "xyxy"},
                                    BoxColumns{{"xmin", "ymin", "w", "h"}, "xywh"},
                                    BoxColumns{{"x1", "y1", "w", "h"}, "xywh"},
                                    BoxColumns{{"left", "top", "w", "h"}, "xywh"},
                                    BoxColumns{{"xcenter", "ycenter", "w", "h"}, "cxcywh"},
                                    BoxColumns{{"xcentre", "ycentre", "w", "h"}, "cxcywh"},
                                    BoxColumns{{"centerx", "centery", "w", "h"}, "cxcywh"},
                                    BoxColumns{{"cx", "cy", "w", "h"}, "cxcywh"},
                                    BoxColumns{{"xc", "yc", "w", "h"}, "cxcywh"},
                                    BoxColumns{{"x", "y", "w", "h"}, "xywh cxcywh"}};

constexpr std::array<std::string_view, 15> kPathNames = {
    "filename",  "filepath",  "file",  "path",    "imagefilename",
    "imagefile", "imagepath", "image", "imageid", "imagename",
    "imgpath",   "imgname",   "imgid", "img",     "imageuri"};
constexpr std::array<std::string_view, 3> kClassNames[] = {
    {"classname", "labelname", "categoryname"},
    {"class", "label", "category"},
    {"classid", "labelid", "categoryid"}};
constexpr std::array<std::string_view, 4> kSplitNames = {"split", "subset", "set", "usage"};

/// A column's name in lower case, of letters and digits, without what says that it is of a box.
std::string plain_name(std::string_view cell) {
  std::string plain;
  for (const char c : lower_case(cell))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  for (const std::string_view prefix : {"bbox", "box", "roi", "bb"})
    if (plain != "bbox" && plain.size() > prefix.size() && plain.starts_with(prefix))
      return plain.erase(0, prefix.size());
  return plain;
}

/// What the columns of a table are.
struct TableColumns {
  std::size_t path = 0;
  std::optional<std::size_t> label;
  std::array<std::size_t, 4> box = {};
  bool one_cell = false;  ///< the box is a list in box[0]
  std::vector<std::string_view> forms;
  std::optional<std::size_t> width, height;  ///< of the image, or once more of the box
  std::optional<std::size_t> split;
  std::map<std::size_t, ObjectFlag> flags;
  bool header = true;
};

class HeaderReader {
 public:
  explicit HeaderReader(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) names_.push_back(plain_name(cell));
  }

  /// Nothing where it has no path or no box.
  std::optional<TableColumns> read() {
    TableColumns found;
    const bool box = find_box(found);
    for (const std::string_view name : kPathNames)
      if (const auto at = place(name)) paths_.push_back(*at);
    if (!box || paths_.empty()) return std::nullopt;
    found.path = paths_.front();
    for (const auto& names : kClassNames)
      for (const std::string_view name : names)
        if (!found.label) found.label = place(name);
    for (const std::string_view name : kSplitNames)
      if (!found.split) found.split = place(name);
    for (const auto& [name, flag] :
         {std::pair("isoccluded", kOccluded), std::pair("occluded", kOccluded),
          std::pair("istruncated", kTruncated), std::pair("truncated", kTruncated),
          std::pair("isdifficult", kDifficult), std::pair("difficult", kDifficult),
          std::pair("isgroupof", kCrowd), std::pair("iscrowd", kCrowd)})
      if (const auto at = place(name)) found.flags.emplace(*at, flag);
    return found;
  }
  const std::vector<std::size_t>& paths() const { return paths_; }

 private:
  std::optional<std::size_t> place(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - names_.begin()));
  }

  bool find_box(TableColumns& found) {
    std::optional<std::size_t> width = place("width"), height = place("height");
    for (const BoxColumns& columns : kBoxColumns) {
      std::size_t known = 0;
      bool sizes = false;
      for (; known < 4; ++known) {
        std::optional<std::size_t> at = place(columns.names[known]);
        const bool size = columns.names[known].size() == 1 && known > 1;
        if (size && !at) at = known == 2 ? width : height;
        sizes = sizes || (size && at && (at == width || at == height));
        if (!at) break;
        found.box[known] = *at;
      }
      if (known < 4) continue;
      if (!sizes) {
        found.width = width;
        found.height = height;
      }
      take_forms(columns.forms, found);
      take_image_size(found);
      return true;
    }
    for (const std::string_view name : {"bbox", "box", "boundingbox"}) {
      const auto at = place(name);
      if (!at) continue;
      found.box = {*at};
      found.one_cell = true;
      found.width = width;
      found.height = height;
      take_forms("xyxy xywh cxcywh", found);
      take_image_size(found);
      return true;
    }
    return false;
  }

  void take_image_size(TableColumns& found) const {
    if (const auto width = place("imagewidth")) found.width = width;
    if (const auto height = place("imageheight")) found.height = height;
    if (!found.width || !found.height) found.width = found.height = std::nullopt;
  }

  static void take_forms(std::string_view words, TableColumns& found) {
    for (const FormName& form : kForms)
      if ((' ' + std::string(words) + ' ').find(' ' + std::string(form.name) + ' ') !=
          std::string::npos)
        found.forms.push_back(form.name);
  }

  std::vector<std::string> names_;
  std::vector<std::size_t> paths_;
};

constexpr std::size_t kMostSplitNames = 5;
constexpr std::array kTableSyntaxes = {kCommas, kSemicolons, kTabs};

bool is_whole_text(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The beginning of each row's numbers that a column has; nothing where a cell is none.
std::optional<double> cell_number(const std::string& cell) {
  const auto numbers = numbers_in(cell, " ");
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

class BoxTable {
 public:
  BoxTable(const ExportFile& file, ExportedImages& out)
      : file_(file), out_(out), fd_(open_text(file.path)) {}

  void read() {
    find_columns();
    each_row([&](const Row& row) { look_at(row); });
    refuse_splits();
    choose_form();
    choose_unit();
    if (same_as_box_) columns_.width = columns_.height = std::nullopt;
    number_classes();
    note_columns();
    each_row([&](const Row& row) { take(row); });
  }

 private:
  template <class Visit>
  void each_row(const Visit& visit) const {
    RowReader rows(fd_.get(), file_.path, syntax_);
    Row row;
    if (columns_.header) rows.next(row);
    while (rows.next(row)) {
      if (row.cells.size() != names_.size())
        throw Error(ErrorKind::kCorrupt, fmt::format("line {} has {} cells, the first line {}",
                                                     row.line, row.cells.size(), names_.size()));
      visit(row);
    }
  }

  void find_columns() {
    for (const RowSyntax& syntax : kTableSyntaxes) {
      Row first;
      if (!RowReader(fd_.get(), file_.path, syntax).next(first)) continue;
      HeaderReader header(first.cells);
      const auto found = header.read();
      if (!found) continue;
      columns_ = *found;
      names_ = first.cells;
      syntax_ = syntax;
      choose_path(header.paths());
      return;
    }
    find_columns_without_header();
  }

  /// Of several columns, that with names of images in the first row.
  void choose_path(std::vector<std::size_t> paths) {
    if (paths.size() < 2) return;
    RowReader rows(fd_.get(), file_.path, syntax_);
    Row row;
    if (rows.next(row) && rows.next(row) && row.cells.size() == names_.size())
      std::erase_if(paths,
                    [&](std::size_t at) { return !naming::has_any_image_name(row.cells[at]); });
    if (paths.size() != 1)
      throw Error(ErrorKind::kCorrupt,
                  "several columns may be the path of the image: rename all "
                  "but one");
    columns_.path = paths.front();
  }

  /// A path, four numbers and a class, or a path, a class and four numbers.
  void find_columns_without_header() {
    const auto syntax = find_separator(fd_.get(), file_.path);
    Row first;
    const bool row = syntax && RowReader(fd_.get(), file_.path, *syntax).next(first);
    if (!row || first.cells.size() != 6 || !naming::has_any_image_name(first.cells[0]))
      throw Error(ErrorKind::kUnsupported,
                  "its first line names no columns that are known: a path, a class, and xmin ymin "
                  "xmax ymax, xmin ymin width height, x_center y_center width height or bbox");
    syntax_ = *syntax;
    columns_.header = false;
    names_.assign(6, "");
    std::array<bool, 6> numbers;
    numbers.fill(true);
    each_row([&](const Row& one) {
      for (std::size_t i = 0; i < 6; ++i)
        numbers[i] = numbers[i] && (one.cells[i].empty() || cell_number(one.cells[i]));
    });
    if (std::ranges::count(numbers, true) != 4 || numbers[0] || numbers[1] == numbers[5])
      throw Error(ErrorKind::kUnsupported,
                  "it has no header, and is neither path, four numbers, class nor path, class, "
                  "four numbers");
    const std::size_t begin = numbers[1] ? 1 : 2;
    columns_.label = numbers[1] ? 5 : 1;
    for (std::size_t i = 0; i < 4; ++i) columns_.box[i] = begin + i;
    for (const FormName& form : kForms) columns_.forms.push_back(form.name);
  }

  /// The numbers of a row's box: none where it has no box. Nothing where a cell is not a number.
  std::optional<std::vector<double>> box_of_row(const Row& row) const {
    if (columns_.one_cell) {
      auto numbers = numbers_in(row.cells[columns_.box[0]], "[](), ;");
      return numbers && (numbers->empty() || numbers->size() == 4) ? numbers : std::nullopt;
    }
    std::vector<double> numbers;
    std::size_t empty = 0;
    for (const std::size_t at : columns_.box) {
      if (row.cells[at].empty() && ++empty) continue;
      const auto number = cell_number(row.cells[at]);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
    return empty == 0 || empty == 4 ? std::optional(numbers) : std::nullopt;
  }

  void look_at(const Row& row) {
    const auto box = box_of_row(row);
    if (columns_.split && splits_.size() <= kMostSplitNames)
      splits_.insert(row.cells[*columns_.split]);
    if (!box || box->empty()) return;
    ++boxes_;
    for (const double value : *box) {
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      whole_ = whole_ && value == std::floor(value);
    }
    if (columns_.label)
      number_labels_ = number_labels_ && is_whole_text(row.cells[*columns_.label]);
    if (!columns_.width) return;
    const auto width = cell_number(row.cells[*columns_.width]);
    const auto height = cell_number(row.cells[*columns_.height]);
    same_as_box_ =
        same_as_box_ && width == (*box)[2] - (*box)[0] && height == (*box)[3] - (*box)[1];
  }

  void refuse_splits() const {
    if (splits_.size() < 2 || splits_.size() > kMostSplitNames) return;
    throw Error(ErrorKind::kCorrupt, "its column '" + printable(names_[*columns_.split]) +
                                         "' names splits: write a table for each, and give " +
                                         opt("targets", "train=table:FILE"));
  }

  [[noreturn]] void refuse_readings(const std::string& what,
                                    const std::vector<std::string>& readings) const {
    std::vector<std::string> options;
    for (const std::string& reading : readings)
      options.push_back(file_.options.with_choice(reading));
    throw Error(ErrorKind::kUsage, what, file_.path,
                fmt::format("say which it is: {}", fmt::join(options, ", or ")));
  }

  void choose_form() {
    const std::string_view said = std::string_view(file_.choice).substr(0, file_.choice.find('-'));
    const auto known = std::ranges::find(kForms, said, &FormName::name);
    if (!file_.choice.empty() && known == kForms.end()) refuse_choice();
    if (known != kForms.end()) {
      if (std::ranges::find(columns_.forms, said) == columns_.forms.end())
        throw Error(ErrorKind::kUsage,
                    fmt::format("the columns of the box are {}, not {}",
                                fmt::join(columns_.forms, " or "), said),
                    file_.path, "leave out the form");
      form_ = *known;
      return;
    }
    if (columns_.forms.size() > 1) {
      std::vector<std::string> readings(columns_.forms.begin(), columns_.forms.end());
      refuse_readings(
          "the boxes of the table can be read in several ways: as two corners (xyxy), as the top "
          "left corner and the size (xywh) or as the centre and the size (cxcywh)",
          readings);
    }
    form_ = *std::ranges::find(kForms, columns_.forms.front(), &FormName::name);
  }

  [[noreturn]] void refuse_choice() const {
    throw Error(ErrorKind::kUsage, "'" + printable(file_.choice) + "' is not a form of boxes",
                file_.path,
                "give xyxy, xywh or cxcywh, with -pixels or -fractions where that is not clear");
  }

  /// Fractions are between 0 and 1; boxes of pixels are larger than two.
  void choose_unit() {
    const std::size_t dash = file_.choice.find('-');
    const std::string said = dash == std::string::npos ? "" : file_.choice.substr(dash + 1);
    if (!said.empty() && said != "pixels" && said != "fractions") refuse_choice();
    const bool within = least_ >= 0 && most_ <= 1;
    if (said.empty() && boxes_ > 0 && most_ <= 2 && !(within && !whole_))
      refuse_readings(
          "no number of the boxes is more than 2: they may be pixels or fractions",
          {std::string(form_.name) + "-pixels", std::string(form_.name) + "-fractions"});
    out_.fractions = said.empty() ? boxes_ > 0 && within : said == "fractions";
  }

  void number_classes() {
    if (!columns_.label && file_.classes().size() != 1)
      throw Error(ErrorKind::kUsage, "no column of the table names the class of a box", file_.path,
                  "call it class, or name the one class: " + opt("target_classes", "FILE"));
    const auto& classes = file_.classes();
    number_labels_ = columns_.label && boxes_ > 0 && number_labels_ &&
                     std::ranges::none_of(classes, is_whole_text);
    if (number_labels_ && classes.empty())
      throw Error(ErrorKind::kUsage, "the classes of the table are numbers", file_.path,
                  "name them, a name a line, the first for 0: " + opt("target_classes", "FILE"));
  }

  void note_columns() {
    std::set<std::size_t> read(columns_.box.begin(), columns_.box.end());
    read.insert(columns_.path);
    if (columns_.label) read.insert(*columns_.label);
    if (columns_.width) read.insert({*columns_.width, *columns_.height});
    for (const auto& [at, flag] : columns_.flags) read.insert(at);
    std::vector<std::string> others;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!read.contains(i) && columns_.header) others.push_back(names_[i]);
    out_.note(fmt::format(
        "{}: the boxes are {} in {}{}{}", printable(file_.path.filename().native()), form_.name,
        out_.fractions ? "fractions of the image" : "pixels",
        others.empty() ? "" : "; not read: ", others.empty() ? "" : naming::quoted(others)));
  }

  void take(const Row& row) {
    const std::string& path = row.cells[columns_.path];
    if (path.empty())
      throw Error(ErrorKind::kCorrupt, fmt::format("line {} names no image", row.line));
    ExportedImages::Image& image = out_.image(path);
    const std::string name = fmt::format("line {}", row.line);
    take_size(row, image, name);
    const auto box = box_of_row(row);
    if (!box) return image.problem(name, "its box is not four numbers");
    if (box->empty()) return;
    AnnotatedObject object;
    const std::vector<double>& b = *box;
    object.left = form_.form == BoxForm::kCentreAndSize ? b[0] - b[2] / 2 : b[0];
    object.top = form_.form == BoxForm::kCentreAndSize ? b[1] - b[3] / 2 : b[1];
    object.right = form_.form == BoxForm::kCorners ? b[2] : object.left + b[2];
    object.bottom = form_.form == BoxForm::kCorners ? b[3] : object.top + b[3];
    for (const auto& [at, flag] : columns_.flags)
      if (row.cells[at] == "1" || lower_case(row.cells[at]) == "true") object.flags |= flag;
    if (!columns_.label) return out_.add(image, file_.classes().front(), object, name);
    const std::string& label = row.cells[*columns_.label];
    if (!number_labels_) return out_.add(image, label, object, name);
    const std::size_t number = std::stoul(label);
    if (number >= file_.classes().size())
      return image.problem(name, "its class " + label + " has no name");
    out_.add(image, file_.classes()[number], object, name);
  }

  void take_size(const Row& row, ExportedImages::Image& image, const std::string& name) const {
    if (!columns_.width) return;
    const std::string &width = row.cells[*columns_.width], &height = row.cells[*columns_.height];
    if (width.empty() && height.empty()) return;
    const auto w = cell_number(width), h = cell_number(height);
    const auto is_side = [](const std::optional<double>& side) {
      return side && *side >= 0 && *side <= 1 << 30 && *side == std::floor(*side);
    };
    if (!is_side(w) || !is_side(h))
      return image.problem(name, "the size of its image is not two whole numbers");
    image.set_size(static_cast<std::uint32_t>(*w), static_cast<std::uint32_t>(*h));
  }

  const ExportFile& file_;
  ExportedImages& out_;
  UniqueFd fd_;
  RowSyntax syntax_ = kCommas;
  std::vector<std::string> names_;  ///< of the columns
  TableColumns columns_;
  FormName form_ = kForms.front();
  std::set<std::string> splits_;
  std::size_t boxes_ = 0;
  double least_ = 0, most_ = 0;
  bool whole_ = true, number_labels_ = true, same_as_box_ = true;
};

}  // namespace

bool is_box_table(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  for (const RowSyntax& syntax : kTableSyntaxes) {
    const std::vector<std::string_view> cells = split_text(line, syntax.separator);
    if (HeaderReader({cells.begin(), cells.end()}).read()) return true;
  }
  return false;
}

void read_table(const ExportFile& file, ExportedImages& out) { BoxTable(file, out).read(); }

}  // namespace packhorse

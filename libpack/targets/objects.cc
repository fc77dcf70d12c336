#include "packhorse/targets/objects.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "packhorse/base/error.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse {

namespace {

static_assert(std::endian::native == std::endian::little,
              "columns are copied as they lie in memory");

constexpr std::string_view kMagic("PHOBJ1\0\0", 8);
constexpr std::size_t kColumns = 11;
constexpr std::size_t kHeader = 8 + 4 * kColumns;  // magic, then how many values each column has

/// Bytes of a value of each column, in the order in which they are stored.
constexpr std::array<std::size_t, kColumns> kWidths = {
    sizeof(Box), 4, 1, 4, 4, 4, sizeof(Point), 4, 4, sizeof(Keypoint), 4};
static_assert(sizeof(Box) == 16 && sizeof(Point) == 16 && sizeof(Keypoint) == 12);

[[noreturn]] void bad_objects(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("damaged objects: ") + what);
}

std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

/// All columns, by a function for each of their names.
template <class Columns, class Visit>
void for_each_column(Columns& c, const Visit& visit) {
  visit(c.boxes), visit(c.labels), visit(c.flags), visit(c.areas), visit(c.polygons);
  visit(c.points), visit(c.outlines), visit(c.runs), visit(c.counts), visit(c.keypoints);
  visit(c.keypoints_each);
}

template <class T>
T value_at(Bytes column, std::size_t i) {
  T value;
  std::memcpy(&value, column.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void check_finite(Bytes column) {
  for (std::size_t i = 0; i < column.size() / sizeof(T); ++i) {
    if (!std::isfinite(value_at<T>(column, i))) bad_objects("a number is not finite");
  }
}

/// Offsets begin with 0, never fall, and end with the size of what they point into.
void check_offsets(Bytes offsets, std::size_t owners, std::size_t owned) {
  const std::size_t n = offsets.size() / 4;
  if (n == 0 && owned == 0) return;
  if (n != owners + 1) bad_objects("offsets are too few or too many");
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = value_at<std::uint32_t>(offsets, i);
    if (at < last || (i == 0 && at != 0)) bad_objects("offsets are not in order");
    last = at;
  }
  if (last != owned) bad_objects("offsets end at another place than their column");
}

void check_keypoints(const ObjectColumns& c) {
  if (c.keypoints_each.empty() && c.keypoints.empty()) return;
  if (c.keypoints_each.size() != 4) bad_objects("it is unclear how many key points an object has");
  const std::uint64_t each = value_at<std::uint32_t>(c.keypoints_each, 0);
  if (each * c.size * sizeof(Keypoint) != c.keypoints.size()) bad_objects("key points are missing");
}

std::size_t polygons_of(const ObjectColumns& c) {
  return c.points.empty() ? 0 : c.points.size() / 4 - 1;
}

/// An object has one kind of mask.
void check_one_mask(const ObjectColumns& c) {
  if (c.polygons.empty() || c.runs.empty()) return;
  for (std::size_t i = 0; i < c.size; ++i) {
    const auto has = [&](Bytes offsets) {
      return value_at<std::uint32_t>(offsets, i) != value_at<std::uint32_t>(offsets, i + 1);
    };
    if (has(c.polygons) && has(c.runs)) bad_objects("an object has two masks");
  }
}

void check(const ObjectColumns& c) {
  if (c.labels.size() != 4 * c.size || c.flags.size() != c.size) bad_objects("labels are missing");
  if (!c.areas.empty() && c.areas.size() != 4 * c.size) bad_objects("areas are missing");
  check_offsets(c.polygons, c.size, polygons_of(c));
  check_offsets(c.points, polygons_of(c), c.outlines.size() / sizeof(Point));
  check_offsets(c.runs, c.size, c.counts.size() / 4);
  check_one_mask(c);
  check_keypoints(c);
  for (const Bytes numbers : {c.boxes, c.areas, c.keypoints}) check_finite<float>(numbers);
  check_finite<double>(c.outlines);
  for (std::size_t i = 0; i < c.size; ++i) {
    if (value_at<std::int32_t>(c.labels, i) < 0) bad_objects("a label is negative");
  }
}

}  // namespace

void check_masks(const Objects& objects, std::uint32_t height, std::uint32_t width) {
  constexpr double kMostTimes = 1024;
  constexpr double kAlwaysFine = 1e6;  // pixels of an outline
  if (height == 0 || width == 0) return;
  double outline = 0, covered = 0;
  for (std::size_t p = 0; p + 1 < objects.points.size(); ++p) {
    const auto corners = std::span(objects.outlines)
                             .subspan(objects.points[p], objects.points[p + 1] - objects.points[p]);
    if (corners.empty()) continue;
    Point least = corners.front(), most = corners.front();
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
      outline += std::max(std::abs(a.x - b.x), std::abs(a.y - b.y));
      least = {std::min(least.x, a.x), std::min(least.y, a.y)};
      most = {std::max(most.x, a.x), std::max(most.y, a.y)};
    }
    covered += std::max(0.0, std::min<double>(most.x, width) - std::max(least.x, 0.0)) *
               std::max(0.0, std::min<double>(most.y, height) - std::max(least.y, 0.0));
  }
  for (std::size_t i = 0; i + 1 < objects.runs.size(); ++i) {
    const auto counts =
        std::span(objects.counts).subspan(objects.runs[i], objects.runs[i + 1] - objects.runs[i]);
    const Box box = box_of(counts, {height, width});
    covered +=
        std::max(0.0, double{box.right} - box.left) * std::max(0.0, double{box.bottom} - box.top);
  }
  const double sides = double{1} * height + width;
  if (outline > kMostTimes * sides + kAlwaysFine)
    throw Error(ErrorKind::kUnsupported,
                "the outlines of its objects are longer than 1,024 times the sides of the image");
  if (covered > kMostTimes * height * width)
    throw Error(ErrorKind::kUnsupported,
                "the masks of its objects cover the image more than 1,024 times");
}

std::vector<std::byte> encode_objects(const Objects& objects) {
  std::size_t total = kHeader;
  for_each_column(objects, [&](const auto& values) {
    if (!std::in_range<std::uint32_t>(values.size()))
      throw Error(ErrorKind::kUnsupported, "an image has too many objects");
    total += padded(std::span(values).size_bytes());
  });
  std::vector<std::byte> out(total);
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  std::size_t header = kMagic.size(), at = kHeader;
  for_each_column(objects, [&](const auto& values) {
    const auto count = static_cast<std::uint32_t>(values.size());
    const Bytes bytes = std::as_bytes(std::span(values));
    std::memcpy(out.data() + header, &count, sizeof(count));
    if (!bytes.empty()) std::memcpy(out.data() + at, bytes.data(), bytes.size());
    header += sizeof(count);
    at += padded(bytes.size());
  });
  return out;
}

ObjectColumns find_objects(Bytes field) {
  if (field.size() < kHeader || !as_text(field).starts_with(kMagic))
    bad_objects("they do not start so");
  ObjectColumns found;
  std::size_t column = 0, at = kHeader;
  for_each_column(found, [&](Bytes& bytes) {
    const std::size_t count = value_at<std::uint32_t>(field.subspan(kMagic.size()), column);
    const std::size_t length = count * kWidths[column++];
    if (padded(length) > field.size() - at) bad_objects("they are cut");
    bytes = field.subspan(at, length);
    at += padded(length);
  });
  if (at != field.size()) bad_objects("something follows them");
  found.size = found.boxes.size() / sizeof(Box);
  check(found);
  return found;
}

Objects decode_objects(Bytes field) {
  const ObjectColumns found = find_objects(field);
  std::array<Bytes, kColumns> columns;
  std::size_t n = 0;
  for_each_column(found, [&](Bytes bytes) { columns[n++] = bytes; });
  Objects objects;
  n = 0;
  for_each_column(objects, [&](auto& values) {
    const Bytes bytes = columns[n++];
    values.resize(bytes.size() / sizeof(values[0]));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  });
  return objects;
}

}  // namespace packhorse

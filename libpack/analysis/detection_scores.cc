#include "packhorse/analysis/detection_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr double kWidest = 1e10;  // pixels: more than any area
constexpr std::array<std::pair<double, double>, kObjectSizes> kSizes = {
    {{0, kWidest}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, kWidest}}};

/// As numpy.linspace(0.5, 0.95, 10) has them to the last bit: an overlap may be one of them.
double overlap_at(std::size_t t) {
  return t + 1 == kOverlaps ? 0.95 : static_cast<double>(t) * ((0.95 - 0.5) / 9) + 0.5;
}

bool is_finite(const PlainBox& box) {
  return std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
         std::isfinite(box.height);
}

bool is_of(std::size_t size, double area) {
  return kSizes.at(size).first <= area && area <= kSizes.at(size).second;
}

/// The objects and detections of one class in one picture, at one size and overlap.
struct Match {
  std::vector<bool> right, ignored;  ///< of each detection
};

/// Each detection, the surest first, takes the object that it overlaps most of those that are left.
/// One that counts goes before one that does not; crowds may be taken again and again.
Match match(const std::vector<std::vector<double>>& overlaps,
            const std::vector<TrueObject>& objects, const std::vector<bool>& uncounted,
            double least) {
  const std::size_t detections = overlaps.size();
  std::vector<std::size_t> order(objects.size());  // those that count first
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t o) { return !uncounted[o]; });
  Match result{std::vector<bool>(detections), std::vector<bool>(detections)};
  std::vector<bool> taken(objects.size());
  for (std::size_t d = 0; d < detections; ++d) {
    double best = std::min(least, 1 - 1e-10);
    std::optional<std::size_t> chosen;
    for (const std::size_t o : order) {
      if (taken[o] && !objects[o].crowd) continue;
      if (chosen && !uncounted[*chosen] && uncounted[o]) break;
      if (overlaps[d][o] < best) continue;
      best = overlaps[d][o];
      chosen = o;
    }
    if (!chosen) continue;
    taken[*chosen] = true;
    result.right[d] = true;
    result.ignored[d] = uncounted[*chosen];
  }
  return result;
}

/// What is in a picture and what is found there, of one class; the surest detection first.
struct OneClass {
  std::vector<TrueObject> objects;
  std::vector<Detection> detections;

  /// Of each detection with each object.
  std::vector<std::vector<double>> overlaps() const {
    std::vector<std::vector<double>> overlaps(detections.size());
    for (std::size_t d = 0; d < detections.size(); ++d)
      for (const TrueObject& object : objects)
        overlaps[d].push_back(overlap(detections[d].box, object.box, object.crowd));
    return overlaps;
  }
  /// Which of the objects do not count at a size.
  std::vector<bool> uncounted(std::size_t size) const {
    std::vector<bool> uncounted;
    for (const TrueObject& object : objects)
      uncounted.push_back(object.crowd || !is_of(size, object.area));
    return uncounted;
  }
};

/// Throws Error(kUsage) for what is not finite.
std::map<std::int64_t, OneClass> by_class(std::span<const TrueObject> objects,
                                          std::span<const Detection> detections) {
  std::map<std::int64_t, OneClass> classes;
  for (const TrueObject& object : objects) {
    if (!is_finite(object.box) || !std::isfinite(object.area))
      throw Error(ErrorKind::kUsage, "an object's box or area is not finite");
    classes[object.label].objects.push_back(object);
  }
  for (const Detection& detection : detections) {
    if (!is_finite(detection.box) || !std::isfinite(detection.score))
      throw Error(ErrorKind::kUsage, "a detection's box or score is not finite");
    classes[detection.label].detections.push_back(detection);
  }
  for (auto& [label, one] : classes)
    std::ranges::stable_sort(one.detections, std::ranges::greater(), &Detection::score);
  return classes;
}

/// Precision at the recalls, and the recall that is reached.
struct Curve {
  std::array<double, kRecalls> precision = {};
  double recall = 0;
  double mean() const {
    return std::accumulate(precision.begin(), precision.end(), 0.0) / kRecalls;
  }
};

/// The mean of values that may be undefined.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  std::optional<double> get() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  std::uint64_t count_ = 0;
};

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const Bytes bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Takes values from the front of bytes.
class Unpacker {
 public:
  explicit Unpacker(Bytes bytes) : left_(bytes) {}
  template <class T>
  T take() {
    if (left_.size() < sizeof(T)) refuse();
    T value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::size_t left() const { return left_.size(); }
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::kCorrupt, "these are no scores of as many classes");
  }

 private:
  Bytes left_;
};

}  // namespace

double overlap(const PlainBox& detection, const PlainBox& object, bool crowd) {
  const double width = std::min(detection.x + detection.width, object.x + object.width) -
                       std::max(detection.x, object.x);
  const double height = std::min(detection.y + detection.height, object.y + object.height) -
                        std::max(detection.y, object.y);
  if (!(width > 0) || !(height > 0)) return 0;
  const double common = width * height;
  return common / (crowd ? detection.area() : detection.area() + object.area() - common);
}

DetectionScores::DetectionScores(std::size_t classes) : classes_(classes) {}

void DetectionScores::add(std::uint64_t image, std::span<const TrueObject> objects,
                          std::span<const Detection> detections) {
  std::map<std::int64_t, OneClass> classes = by_class(objects, detections);
  if (!classes.empty() && (classes.begin()->first < 0 ||
                           static_cast<std::uint64_t>(classes.rbegin()->first) >= classes_.size()))
    throw Error(ErrorKind::kUsage, "a label is that of no class");
  for (auto& [label, one] : classes) {
    Class& to = classes_[static_cast<std::size_t>(label)];
    if (one.detections.size() > kMostDetections.back())
      one.detections.resize(kMostDetections.back());
    const std::size_t first = to.found.size();
    for (std::size_t d = 0; d < one.detections.size(); ++d)
      to.found.push_back({one.detections[d].score, image, static_cast<std::uint16_t>(d)});
    const std::vector<std::vector<double>> overlaps = one.overlaps();
    for (std::size_t size = 0; size < kObjectSizes; ++size) {
      const std::vector<bool> uncounted = one.uncounted(size);
      to.objects[size] += static_cast<std::uint64_t>(std::ranges::count(uncounted, false));
      for (std::size_t t = 0; t < kOverlaps; ++t) {
        const Match result = match(overlaps, one.objects, uncounted, overlap_at(t));
        for (std::size_t d = 0; d < one.detections.size(); ++d) {
          Found& found = to.found[first + d];
          const auto bit = static_cast<std::uint16_t>(1u << t);
          const bool other_size = !result.right[d] && !is_of(size, one.detections[d].box.area());
          if (result.right[d]) found.right[size] |= bit;
          if (result.ignored[d] || other_size) found.ignored[size] |= bit;
        }
      }
    }
  }
  ++images_;
}

Mistakes mistakes_of(std::span<const TrueObject> objects, std::span<const Detection> detections) {
  constexpr auto kAll = static_cast<std::size_t>(ObjectSize::kAll);
  Mistakes mistakes;
  for (const auto& [label, one] : by_class(objects, detections)) {
    const std::vector<bool> uncounted = one.uncounted(kAll);
    const Match result = match(one.overlaps(), one.objects, uncounted, overlap_at(0));
    std::uint64_t hits = 0;
    for (std::size_t d = 0; d < one.detections.size(); ++d) {
      if (!result.right[d]) ++mistakes.false_alarms;
      if (result.right[d] && !result.ignored[d]) ++hits;
    }
    const auto counted = std::ranges::count(uncounted, false);
    mistakes.missed += static_cast<std::uint64_t>(counted) - hits;
  }
  return mistakes;
}

std::vector<std::byte> DetectionScores::serialise() const {
  std::vector<std::byte> out;
  put(out, images_);
  put(out, static_cast<std::uint64_t>(classes_.size()));
  for (const Class& one : classes_) {
    put(out, one.objects);
    put(out, static_cast<std::uint64_t>(one.found.size()));
    for (const Found& found : one.found) {
      put(out, found.score);
      put(out, found.image);
      put(out, found.rank);
      put(out, found.right);
      put(out, found.ignored);
    }
  }
  return out;
}

void DetectionScores::merge(Bytes bytes) {
  Unpacker unpacker(bytes);
  const auto images = unpacker.take<std::uint64_t>();
  if (unpacker.take<std::uint64_t>() != classes_.size()) Unpacker::refuse();
  std::vector<Class> classes(classes_.size());
  for (Class& one : classes) {
    one.objects = unpacker.take<std::array<std::uint64_t, kObjectSizes>>();
    const auto count = unpacker.take<std::uint64_t>();
    if (count > unpacker.left()) Unpacker::refuse();
    for (std::uint64_t i = 0; i < count; ++i) {
      Found found;
      found.score = unpacker.take<double>();
      found.image = unpacker.take<std::uint64_t>();
      found.rank = unpacker.take<std::uint16_t>();
      found.right = unpacker.take<std::array<std::uint16_t, kObjectSizes>>();
      found.ignored = unpacker.take<std::array<std::uint16_t, kObjectSizes>>();
      const auto is_wrong = [](std::uint16_t bits) { return bits >> kOverlaps != 0; };
      if (!std::isfinite(found.score) || found.rank >= kMostDetections.back() ||
          std::ranges::any_of(found.right, is_wrong) ||
          std::ranges::any_of(found.ignored, is_wrong))
        Unpacker::refuse();
      one.found.push_back(found);
    }
  }
  if (unpacker.left() != 0) Unpacker::refuse();
  images_ += images;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (std::size_t size = 0; size < kObjectSizes; ++size)
      classes_[i].objects[size] += classes[i].objects[size];
    classes_[i].found.insert(classes_[i].found.end(), classes[i].found.begin(),
                             classes[i].found.end());
  }
}

DetectionReport DetectionScores::report() const {
  DetectionReport report;
  report.images = images_;
  std::array<std::array<Mean, kOverlaps>, kObjectSizes> precisions;
  std::array<Mean, kObjectSizes> recalls;                    // with the most detections
  std::array<Mean, kMostDetections.size()> recalls_by_most;  // of all sizes
  for (const Class& one : classes_) {
    DetectionReport::OfClass& told = report.classes.emplace_back();
    told.objects = one.objects[0];
    told.detections = one.found.size();
    std::vector<const Found*> order;
    for (const Found& found : one.found) order.push_back(&found);
    std::ranges::sort(order, [](const Found* a, const Found* b) {
      return std::tuple(-a->score, a->image, a->rank) < std::tuple(-b->score, b->image, b->rank);
    });
    const auto curve = [&](std::size_t size, std::size_t t, std::size_t most) {
      const auto bit = static_cast<std::uint16_t>(1u << t);
      const auto objects = static_cast<double>(one.objects[size]);
      std::vector<double> recall, precision;
      double right = 0, wrong = 0;
      for (const Found* found : order) {
        if (found->rank >= most || (found->ignored[size] & bit) != 0) continue;
        ++((found->right[size] & bit) != 0 ? right : wrong);
        recall.push_back(right / objects);
        precision.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
      }
      for (std::size_t i = precision.size(); i-- > 1;)
        precision[i - 1] = std::max(precision[i - 1], precision[i]);
      Curve made;
      made.recall = recall.empty() ? 0 : recall.back();
      for (std::size_t r = 0; r < kRecalls; ++r) {
        const auto at =
            std::lower_bound(recall.begin(), recall.end(), 0.01 * static_cast<double>(r));
        if (at == recall.end()) break;
        made.precision[r] = precision[static_cast<std::size_t>(at - recall.begin())];
      }
      return made;
    };
    Mean ap, recall;
    for (std::size_t size = 0; size < kObjectSizes; ++size) {
      if (one.objects[size] == 0) continue;
      for (std::size_t t = 0; t < kOverlaps; ++t) {
        const Curve made = curve(size, t, kMostDetections.back());
        precisions[size][t].add(made.mean());
        recalls[size].add(made.recall);
        if (size != 0) continue;
        ap.add(made.mean());
        recall.add(made.recall);
        if (t == 0) {
          told.ap50 = made.mean();
          told.precision50.assign(made.precision.begin(), made.precision.end());
        }
        for (std::size_t m = 0; m < kMostDetections.size(); ++m)
          recalls_by_most[m].add(curve(size, t, kMostDetections[m]).recall);
      }
    }
    told.ap = ap.get();
    told.recall = recall.get();
  }
  const auto over_overlaps = [&](ObjectSize size) {
    Mean mean;
    for (const Mean& at : precisions[static_cast<std::size_t>(size)])
      if (const auto value = at.get()) mean.add(*value);
    return mean.get();
  };
  report.ap = over_overlaps(ObjectSize::kAll);
  report.ap50 = precisions[0][0].get();
  report.ap75 = precisions[0][5].get();
  report.ap_small = over_overlaps(ObjectSize::kSmall);
  report.ap_medium = over_overlaps(ObjectSize::kMedium);
  report.ap_large = over_overlaps(ObjectSize::kLarge);
  report.recall1 = recalls_by_most[0].get();
  report.recall10 = recalls_by_most[1].get();
  report.recall100 = recalls_by_most[2].get();
  report.recall_small = recalls[1].get();
  report.recall_medium = recalls[2].get();
  report.recall_large = recalls[3].get();
  return report;
}

}  // namespace packhorse

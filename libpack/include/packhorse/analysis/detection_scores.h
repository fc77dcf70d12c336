#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packhorse/base/bytes.h"

/// Compares detections with the annotated objects: COCO's average precision and recall, as
/// pycocotools' COCOeval computes them for boxes.
///
///     DetectionScores scores(classes);
///     for (...) scores.add(image, objects, detections);
///     DetectionReport report = scores.report();
///
/// Sources: cocodataset.org, "Detection Evaluation"; pycocotools, cocoeval.py.
namespace packhorse {

/// A box by its corner, width and height, in pixels, as COCO writes them.
struct PlainBox {
  double x = 0, y = 0, width = 0, height = 0;
  double area() const { return width * height; }
};

/// An object that is in a picture.
struct TrueObject {
  PlainBox box;
  std::int64_t label = 0;
  double area = 0;     ///< from the annotations: of its outline, not of its box
  bool crowd = false;  ///< stands for many objects: detections in it are neither right nor wrong
};

struct Detection {
  PlainBox box;
  std::int64_t label = 0;
  double score = 0;
};

/// The overlap of two boxes: their intersection over their union, or, for a crowd, over the first.
double overlap(const PlainBox& detection, const PlainBox& object, bool crowd);

/// Sizes of objects: all; areas up to 32 x 32 pixels; up to 96 x 96; larger ones.
enum class ObjectSize : std::uint8_t { kAll, kSmall, kMedium, kLarge };
inline constexpr std::size_t kObjectSizes = 4;
/// The overlaps from which on a detection counts: 0.5, 0.55, ... 0.95.
inline constexpr std::size_t kOverlaps = 10;
/// The recalls at which precision is taken: 0, 0.01, ... 1.
inline constexpr std::size_t kRecalls = 101;
/// How many detections of an image and a class count, the best-scoring first: 1, 10, 100.
inline constexpr std::array<std::size_t, 3> kMostDetections = {1, 10, 100};

/// An empty optional is not defined: there is no object to find.
struct DetectionReport {
  using Score = std::optional<double>;
  struct OfClass {
    std::uint64_t objects = 0;     ///< that count: no crowds
    std::uint64_t detections = 0;  ///< among the 100 best-scoring of their images
    Score ap, ap50, recall;        ///< as below, of this class
    /// Precision at overlap 0.5, at each of the recalls; empty if there is no object to find.
    std::vector<double> precision50;
  };
  std::uint64_t images = 0;
  Score ap, ap50, ap75;                 ///< mean over classes; `ap` also over overlaps
  Score ap_small, ap_medium, ap_large;  ///< by the objects' areas
  Score recall1, recall10, recall100;   ///< mean over classes and overlaps, by detections
  Score recall_small, recall_medium, recall_large;
  std::vector<OfClass> classes;
};

/// Counts mistakes: objects that no detection finds, and detections that find no object.
struct Mistakes {
  std::uint64_t missed = 0, false_alarms = 0;
  std::uint64_t count() const { return missed + false_alarms; }
};

/// Counts the mistakes in one image, at an overlap of 0.5. All given detections count, whatever
/// their scores: give only those above your threshold. A crowd is never missed, and a detection in
/// it is never wrong. Throws Error(kUsage) for a score, box or area that is not finite.
Mistakes mistakes_of(std::span<const TrueObject> objects, std::span<const Detection> detections);

/// Compares the detections of one image after another. Memory: 40 bytes per detection. One thread.
class DetectionScores {
 public:
  explicit DetectionScores(std::size_t classes);

  /// `image` decides between equal scores: detections of lower numbers come first; in one image,
  /// those given first. Use each number once. Throws Error(kUsage) for a label without a class, and
  /// for a score, box or area that is not finite.
  void add(std::uint64_t image, std::span<const TrueObject> objects,
           std::span<const Detection> detections);

  /// Everything that was added, for merge() in another process of the same machine type.
  std::vector<std::byte> serialise() const;
  /// Throws Error(kCorrupt) for bytes that are not from serialise() with as many classes.
  void merge(Bytes bytes);

  DetectionReport report() const;

 private:
  struct Found {
    double score = 0;
    std::uint64_t image = 0;
    std::uint16_t rank = 0;  ///< among the detections of the class in the image
    /// By size: bit t for the overlap t.
    std::array<std::uint16_t, kObjectSizes> right = {}, ignored = {};
  };
  struct Class {
    std::array<std::uint64_t, kObjectSizes> objects = {};
    std::vector<Found> found = {};
  };

  std::uint64_t images_ = 0;
  std::vector<Class> classes_;
};

}  // namespace packhorse

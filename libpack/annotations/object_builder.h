#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse {

/// A mask as an annotation has it.
struct AnnotatedMask {
  RunLengths counts;
  MaskSize size;
};

/// One object as an annotation says, in pixels. Double, as texts have it.
struct AnnotatedObject {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::int64_t label = 0;
  std::uint8_t flags = 0;  ///< ObjectFlag
  std::optional<double> area = {};
  std::vector<std::vector<Point>> polygons = {};
  std::optional<AnnotatedMask> mask = {};
  std::vector<Keypoint> keypoints = {};
};

/// Gives an object the box around its polygons.
void box_from_polygons(AnnotatedObject& object);

/// Problems in a sentence; the first few of many.
std::string words_of(const std::vector<std::string>& problems);

/// What the annotations of an image may hold.
struct AnnotationFrame {
  std::uint32_t width = 0, height = 0;
  std::size_t classes = 0;
  std::size_t keypoints = 0;  ///< of each object; 0: none have any
};

/// Collects an image's objects. An object that cannot be right is left out and given as a problem:
/// nothing is clipped or guessed. A box may be beyond the image by one pixel at most, as rounded
/// annotations are, and is kept as it is.
class ObjectBuilder {
 public:
  explicit ObjectBuilder(const AnnotationFrame& frame) : frame_(frame) {}

  /// `name` is what problems call the object: "annotation 17", "line 3".
  void add(const AnnotatedObject& object, std::string_view name);
  void problem(std::string_view name, std::string_view what);

  const std::vector<std::string>& problems() const { return problems_; }
  /// The objects. To be called once.
  Objects take();

 private:
  std::string why_not(const AnnotatedObject& object) const;
  void add_mask(const AnnotatedObject& object);

  AnnotationFrame frame_;
  Objects objects_;
  bool areas_ = false;
  std::vector<std::string> problems_;
};

}  // namespace packhorse

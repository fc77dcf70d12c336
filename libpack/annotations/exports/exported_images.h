#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotations/object_builder.h"
#include "base/json.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// What the annotations of a tool say: images, each with objects that have a class by its name. All
/// such notations are read into this, and it is written as a text of COCO's, which all else reads.
///
///     ExportedImages out;
///     ExportedImages::Image& image = out.image("train/1.jpg");
///     image.set_size(640, 480);
///     out.add(image, "cat", object, "shape 1");
///     out.finish({"cat", "dog"});
///     CocoFile file(path, out.coco_text());
///
/// Memory: about 150 bytes an object, and its outline as a text.
class ExportedImages {
 public:
  class Image {
   public:
    /// Two sizes of one image are a problem.
    void set_size(std::uint32_t width, std::uint32_t height);
    std::uint32_t width() const { return width_; }
    std::uint32_t height() const { return height_; }
    /// Rejects the image.
    void problem(std::string_view name, std::string_view what);
    const std::string& name() const { return name_; }
    const std::vector<std::string>& problems() const { return problems_; }

   private:
    friend class ExportedImages;
    struct Object {
      std::uint32_t name;   ///< of its class: a place in names_
      std::uint32_t label;  ///< after finish()
      std::string members;  ///< of COCO's annotation: all others
    };
    std::string name_;
    std::uint32_t width_ = 0, height_ = 0;  ///< 0: not said
    std::vector<Object> objects_;
    std::vector<std::string> problems_;
  };

  /// The image of that name, with the folders that the file gives. A name without the ending of an
  /// image file is that of any image called so. The reference stays.
  Image& image(const std::string& name);
  /// Adds an object, whose label is ignored. `name` is what problems call it. `attributes`, a JSON
  /// object, is kept as a member of that name.
  void add(Image& image, std::string_view class_name, const AnnotatedObject& object,
           std::string_view name, const ExactJson& attributes = {});
  /// Adds a class that may have no objects.
  std::uint32_t add_class(std::string_view name);
  void note(std::string note) { notes_.push_back(std::move(note)); }
  /// Counts what is no object, and is not read: `what` is "tags". finish() makes notes of it.
  void pass_over(const std::string& what);

  /// The names of the classes, sorted.
  std::vector<std::string> class_names() const;
  /// Gives objects their labels. One of another class is a problem of its image.
  void finish(const std::vector<std::string>& classes);
  /// A text of COCO's: images by their place in images(), and categories from 0.
  std::string coco_text() const;
  const std::deque<Image>& images() const { return images_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// Whether coordinates are fractions of an image's sides.
  bool fractions = false;

 private:
  std::deque<Image> images_;
  std::unordered_map<std::string, std::size_t> places_;  ///< in images_
  std::vector<std::string> names_, classes_, notes_;
  std::unordered_map<std::string, std::uint32_t> name_places_;
  std::vector<std::pair<std::string, std::size_t>> passed_over_;
  std::size_t others_passed_over_ = 0;
};

/// A record (CocoFile::record()) of such a text for an image that is called `file_name`: fractions
/// become pixels of `image`.
std::string exported_record(const std::string& record, std::string_view file_name,
                            const ImageInfo& image, bool fractions);

}  // namespace packhorse

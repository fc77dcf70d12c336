#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotations/coco_id_table.h"
#include "annotations/object_builder.h"
#include "base/text.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

/// A COCO annotation file (instances and key points; https://cocodataset.org/#format-data):
/// one JSON object with "images", "annotations" and "categories". It stays mapped, and what an
/// image has is parsed when it is asked for. Of other files that can be said as one, such a text is
/// kept in memory instead.
///
/// Memory: some 150 bytes an image and 16 an annotation. Any thread, once it is open.
class CocoFile {
 public:
  struct Image {
    std::string_view json;  ///< as it is written
    std::string file_name;
    std::uint32_t width = 0, height = 0;  ///< of the image as stored; 0: not said
    std::uint32_t first = 0, annotations = 0;
  };

  /// Throws Error(kUsage), naming the file, when it is no such file: not JSON, without images,
  /// an id or a category's name twice, an image without a name, or with a URL instead; an
  /// annotation of an image that is not in its list.
  explicit CocoFile(const std::filesystem::path& path);
  /// `text` says what the file of another notation does; its images need no sizes, and its boxes
  /// may be fractions of them.
  CocoFile(const std::filesystem::path& path, std::string text, bool fractions = false);

  /// Names of the categories by ascending id: labels are places in it.
  const std::vector<std::string>& classes() const { return classes_; }
  /// Names of the key points of an object, of the categories that have any.
  const std::vector<std::string>& keypoint_names() const { return keypoint_names_; }
  /// What it says besides images and annotations, as an object of those members.
  const std::string& head() const { return head_; }
  const std::filesystem::path& path() const { return path_; }
  const std::vector<Image>& images() const { return images_; }
  std::size_t annotations() const { return annotations_.size(); }
  /// What was not as it is usually written, in words.
  const std::vector<std::string>& notes() const { return notes_; }

  /// What it says of an image, as a JSON object of its own, its parts as they are written:
  /// {"image": {...}, "annotations": [{...}, ...]}.
  std::string record(const Image& image) const;
  /// Adds the objects of an image. What cannot be an object is a problem of `builder`. Throws
  /// Error(kCorrupt) where they take more than 16 MiB.
  void add_objects(const Image& image, ObjectBuilder& builder) const;
  /// Adds those of a record, whose categories are those of this file. Returns the image's size as
  /// it says, 0 x 0 where it says none. Throws Error(kCorrupt).
  MaskSize add_objects(std::string_view record, ObjectBuilder& builder) const;

 private:
  struct Place {
    std::uint32_t image = 0;
    std::uint32_t length = 0;
    std::uint64_t offset = 0;
  };
  void read();
  void read_images(std::string_view array);
  void read_categories(std::string_view array);
  void read_annotations(std::string_view array);
  std::string why_no_image(std::string_view id) const;
  void note_annotations(std::size_t captions, const std::string& other_type);
  std::string_view text() const {
    return own_text_.empty() ? without_byte_order_mark(as_text(file_.bytes())) : own_text_;
  }
  /// The texts of an image's annotations, in the order of the file.
  std::vector<std::string_view> annotations_of(const Image& image) const;
  /// Adds what one annotation says, unless that is a caption alone.
  void add_object(std::string_view annotation, ObjectBuilder& builder) const;
  /// Calls `read`, and refuses the file for what that throws.
  void refuse_unless(const std::function<void()>& read) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::string own_text_;  ///< instead of the file's
  bool fractions_ = false;
  std::vector<Image> images_;
  CocoIdTable images_by_id_, labels_by_id_;
  std::vector<std::string> classes_, keypoint_names_, notes_;
  std::string head_;
  std::vector<Place> annotations_;  ///< by image
};

struct CocoCaption {
  std::string file_name;  ///< of its image
  std::string text;       ///< one line: other blanks are spaces
};

/// The captions in a COCO annotation file (https://cocodataset.org/#format-data), which needs no
/// categories; in the order of the images, and of the file. An image without one gets an empty
/// caption. Throws Error(kUsage), naming the file, when it is no such file, an image has no name,
/// an annotation has no image or no caption.
std::vector<CocoCaption> read_coco_captions(const std::filesystem::path& path);

}  // namespace packhorse

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotations/coco_file.h"
#include "annotations/exports/exported_images.h"
#include "listing/listing.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/dataset/manifest.h"

namespace packhorse {

/// Tells which classes the objects have where nobody has named them: `targets`, the option that
/// found them.
std::string class_note(const std::string& targets, const std::vector<std::string>& classes);

/// Says which objects are in the samples of a listing. Any thread, once it is attached.
class SampleTargets {
 public:
  /// Opens the annotation files. Throws Error(kUsage | kNotFound | kIo).
  explicit SampleTargets(TargetOptions options);

  /// Goes through a listing: images that the annotation files do not know, and images that only
  /// these know, become rejects. Throws Error(kUsage) for a split without a file, a field that is
  /// there already, or when no image is known.
  void attach(Listing& listing);

  std::vector<std::string> made_fields() const { return options_.object_fields(); }
  /// What of COCO's file belongs to an image: {"image": ..., "annotations": [...]}, as written
  /// there, or as COCO would say what a metadata.jsonl or an export does. Empty for other
  /// notations, whose text is a field of the source. `image` is the source's. Throws
  /// Error(kCorrupt) where an export's annotations of the image are damaged.
  std::string record(const SplitListing& split, std::size_t entry, const ImageInfo& image) const;
  /// The image as the file says it is: its size alone. No size where it does not say.
  ImageInfo told_image(const SplitListing& split, std::size_t entry) const;
  /// The objects in an image, in pixels of the image as the source has it: from the annotation
  /// file, or from `field`, which the sample has or lacks, where these are a field of the source.
  /// Throws Error(kCorrupt) that names what cannot be right. `turned`: whether the image is turned
  /// by its EXIF orientation, and nothing says whether the objects are so, too.
  Objects objects(const SplitListing& split, std::size_t entry,
                  std::optional<std::string_view> field, const ImageInfo& image,
                  bool* turned = nullptr) const;

  const TargetOptions& options() const { return options_; }
  /// Without its head.
  TargetRecord target() const;
  /// TargetRecord::head of a split; empty where it would be too large. Throws Error(kUsage) for a
  /// split without a file.
  std::string head(const std::string& split) const;
  /// Names everything that the objects depend on besides the source.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  struct Split {
    std::unique_ptr<CocoFile> file;
    /// Images by the hash of their names: what their files are called, and the last part of that.
    std::unordered_map<std::uint64_t, std::uint32_t> by_name, by_last_name;
    bool of_several = false;  ///< the file is for several splits; known once they are listed
    /// Of an export: what is wrong with each image, in words.
    std::vector<std::string> problems = {}, notes = {};
    bool fractions = false;  ///< its coordinates are fractions of an image's sides
    bool stems = false;      ///< some of its names have no ending, as of image files
  };
  struct Use;
  void open_files();
  void read_exports();
  const Split* split_of(const std::string& name) const;
  void take_export(ExportedImages& images, const std::filesystem::path& path, Split& split) const;
  static const CocoFile::Image* find(const Split& split, const SplitListing& listing,
                                     std::size_t entry);
  /// `below`: the entry's path, or what of it the file may say.
  static const CocoFile::Image* find(const Split& split, const SplitListing& listing,
                                     const std::string& below);
  /// The same; throws Error(kCorrupt) where there is none.
  static const CocoFile::Image& image_of(const Split* split, const SplitListing& listing,
                                         std::size_t entry);
  static void add_name(Split& split, std::string_view name, std::uint32_t image);
  static std::optional<std::uint64_t> shared_name(const Split& split, std::string_view path);
  void attach(SplitListing& listing, Use& use) const;
  /// Rejects what only the file knows, and tells how it is written.
  static void finish(const Use& use, std::vector<std::string>& notes);
  void note_without(const std::string& field, Listing& listing) const;
  /// Gives each split what its file says besides images and annotations.
  void keep_heads(Listing& listing) const;

  TargetOptions options_;
  std::vector<std::string> classes_, keypoints_;
  std::unordered_map<std::string, std::size_t> class_places_;  ///< in classes_
  std::map<std::string, Split> splits_;
  std::map<std::string, ExportedImages> exports_;  ///< by split, until their texts are made
  std::string fingerprint_;
};

}  // namespace packhorse

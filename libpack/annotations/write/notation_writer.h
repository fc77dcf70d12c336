#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/annotations/target_options.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/targets/objects.h"

namespace packhorse {

/// What a notation cannot say, in words, and how often.
using Unsaid = std::map<std::string, std::uint64_t>;

/// A sample whose objects are written.
struct NotedSample {
  std::uint64_t number = 0;     ///< in its dataset
  std::filesystem::path place;  ///< of the image, below its split's folder of images
  ImageInfo image;
  const Objects& objects;
  std::string_view text;  ///< the field that told the objects; empty where there is none
};

/// Writes the objects of one dataset in a notation, into a folder that other datasets (splits) may
/// share.
class NotationWriter {
 public:
  virtual ~NotationWriter() = default;

  /// The folder of the images, below the shared one.
  virtual std::filesystem::path images() const = 0;
  /// Where an image with this path in the source belongs, below images(): the same path, without
  /// the folder that held all images there. Any thread.
  virtual std::filesystem::path place(const std::filesystem::path& path, std::string_view text,
                                      Unsaid& unsaid) const;

  /// The file that says the objects of an image, where each has one: below the shared folder. Any
  /// thread.
  struct OwnFile {
    std::filesystem::path path;
    std::string text;
  };
  virtual std::optional<OwnFile> own_file(const NotedSample& sample, Unsaid& unsaid) const;

  /// Called for each sample, in order, once the images are written. One thread.
  virtual void add(const NotedSample& sample) = 0;
  /// Completes the files that the images share. Returns their bytes.
  virtual std::uint64_t finish() = 0;
};

/// What writers are made for.
struct NotedDataset {
  std::string split;  ///< "" when `out` is for this dataset alone
  TargetRecord target;
  std::filesystem::path out;  ///< the shared folder
  bool told_by_text = false;  ///< every sample has its text, and pictures, not pixels
};

/// Throws Error(kUsage | kCorrupt).
std::unique_ptr<NotationWriter> make_notation_writer(UnpackAs as, const NotedDataset& dataset);

}  // namespace packhorse

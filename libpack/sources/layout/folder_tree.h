#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// A tree of folders and images, as its layout is found in it. Paths are relative to the root,
/// which is ""; what is hidden or junk (naming::passed_over) is not in it. One thread.
class FolderTree {
 public:
  virtual ~FolderTree() = default;
  /// Names of the folders right in `folder`, in byte order.
  virtual std::vector<std::string> folders(const std::string& folder) const = 0;
  /// Whether an image, by name or first bytes, lies right in `folder`.
  virtual bool holds_images(const std::string& folder) const = 0;
  enum class Told { kByNameOrBytes, kByName };
  /// Whether one lies in `folder` or anywhere below it.
  virtual bool holds_images_below(const std::string& folder, Told told) const = 0;
};

/// One that is given by the paths in it: an archive's.
class PathTree final : public FolderTree {
 public:
  /// An image, and the folders it lies in.
  void add_image(std::string_view path);
  /// A file, and the folders it lies in; of a folder the path ends with a slash.
  void add_other(std::string_view path);

  std::vector<std::string> folders(const std::string& folder) const override;
  bool holds_images(const std::string& folder) const override;
  bool holds_images_below(const std::string& folder, Told told) const override;

 private:
  std::set<std::string, std::less<>> folders_;
  /// The folders that hold an image themselves; those that hold one that is named so.
  std::set<std::string, std::less<>> with_images_, with_image_names_;
};

}  // namespace packhorse

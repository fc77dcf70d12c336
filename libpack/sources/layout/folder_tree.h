#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// A tree of folders and images in which a layout is found. Paths are relative to the root, which
/// is ""; hidden and junk entries (naming::passed_over) are left out. One thread.
class FolderTree {
 public:
  virtual ~FolderTree() = default;
  /// Names of the folders directly in `folder`, in byte order.
  virtual std::vector<std::string> folders(const std::string& folder) const = 0;
  /// Whether `folder` directly holds an image, judged by name or first bytes.
  virtual bool holds_images(const std::string& folder) const = 0;
  enum class Told { kByNameOrBytes, kByName };
  /// Whether an image lies in `folder` or anywhere below it.
  virtual bool holds_images_below(const std::string& folder, Told told) const = 0;
  /// The name of a file directly in `folder` that gives the labels of its images; empty when there
  /// is none.
  virtual std::string metadata_in(const std::string& /*folder*/) const { return {}; }
  /// Whether `path` is an archive that can be read as a folder.
  virtual bool is_archive(const std::string& /*path*/) const { return false; }
};

/// A tree built from paths, as an archive has them.
class PathTree final : public FolderTree {
 public:
  /// Adds an image, and the folders it lies in.
  void add_image(std::string_view path);
  /// Adds a file, and the folders it lies in; a folder's path ends with a slash.
  void add_other(std::string_view path);

  std::vector<std::string> folders(const std::string& folder) const override;
  bool holds_images(const std::string& folder) const override;
  bool holds_images_below(const std::string& folder, Told told) const override;

 private:
  std::set<std::string, std::less<>> folders_;
  /// The folders that directly hold an image; those that directly hold a file named like one.
  std::set<std::string, std::less<>> with_images_, with_image_names_;
};

}  // namespace packhorse

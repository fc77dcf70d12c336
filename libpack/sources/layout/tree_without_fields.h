#pragma once

#include "sources/fields/field_set.h"
#include "sources/layout/folder_tree.h"

namespace packhorse {

/// A tree without the folders that hold fields of images alone. `tree` and `fields` must outlive
/// it.
class TreeWithoutFields final : public FolderTree {
 public:
  TreeWithoutFields(const FolderTree& tree, const FieldSet& fields)
      : tree_(tree), fields_(fields) {}

  std::vector<std::string> folders(const std::string& folder) const override;
  /// The names of the folders directly in `folder` that folders() leaves out.
  std::vector<std::string> left_out(const std::string& folder) const;
  bool holds_images(const std::string& folder) const override { return tree_.holds_images(folder); }
  bool holds_images_below(const std::string& folder, Told told) const override {
    return tree_.holds_images_below(folder, told);
  }
  std::string metadata_in(const std::string& folder) const override {
    return tree_.metadata_in(folder);
  }
  bool is_archive(const std::string& path) const override { return tree_.is_archive(path); }

 private:
  bool leaves_out(const std::string& path) const;
  bool images_beside(const std::string& folder) const;

  const FolderTree& tree_;
  const FieldSet& fields_;
};

}  // namespace packhorse

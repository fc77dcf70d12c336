#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sources/source.h"

namespace packhorse {

/// Throws Error(kUsage) for options that say where images, splits or fields lie, as `what` does.
void refuse_places(const ListOptions& options, const std::string& what,
                   const std::filesystem::path& source, const std::string& advice);

/// A folder of images whose layout says where its annotations lie: it is read as any folder, with
/// the options that the layout stands for.
class AnnotatedFolder : public Source {
 public:
  explicit AnnotatedFolder(const std::filesystem::path& root);

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    folder_->read(split, i, out);
  }
  bool prefetch(const SplitListing& split, std::size_t i) const override {
    return folder_->prefetch(split, i);
  }
  TargetOptions own_targets() const override { return targets_; }
  bool images_are_files() const override { return folder_->images_are_files(); }

 protected:
  void refuse_others(const ListOptions& options) const {
    refuse_places(options, "this layout says itself where images, splits and annotations lie",
                  root_, "leave them out, or give `source_kind=folder`");
  }
  const std::filesystem::path& root() const { return root_; }

  std::unique_ptr<Source> folder_;
  TargetOptions targets_;

 private:
  std::filesystem::path root_;
};

}  // namespace packhorse

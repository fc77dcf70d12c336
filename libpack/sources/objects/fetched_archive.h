#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "sources/source.h"

namespace packhorse {

/// An archive at a URL: copied to the disk when it is listed, and read there.
class FetchedArchive final : public Source {
 public:
  explicit FetchedArchive(std::filesystem::path url) : url_(std::move(url)) {}

  Listing list(const ListOptions& options) override;
  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    archive_->read(split, i, out);
  }
  bool prefetch(const SplitListing& split, std::size_t i) const override {
    return archive_->prefetch(split, i);
  }
  bool folders_are_classes() const override { return true; }

 private:
  const std::filesystem::path url_;
  std::optional<ScratchDirectory> folder_;  ///< holds the copy; goes after what reads it
  std::unique_ptr<Source> archive_;
};

}  // namespace packhorse

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace packhorse {

/// Turns the paths of a list file, which may be absolute or lead out of its folder with "..", into
/// paths that samples can keep: relative, without ".." or ".", and different for different files.
///
/// They are relative to the list's folder. When one of them leads out of it, all are relative to
/// the deepest folder that holds all images: that depends on where the images lie relative to each
/// other and to the list, not on where all of them lie. "." and ".." are resolved by the text
/// alone.
///
///     ListedPaths paths(list.parent_path());
///     for (row : rows) paths.add(row.path);
///     paths.finish();
///     open(paths.base() / paths.stored(row.path));
class ListedPaths {
 public:
  explicit ListedPaths(const std::filesystem::path& folder);
  /// The unique name of the file that the path means: relative inside the list's folder, else
  /// absolute.
  std::string place(std::string_view path) const;
  void add(const std::string& place);
  void finish();
  const std::filesystem::path& base() const { return base_; }
  std::string stored(std::string_view place) const;

 private:
  std::filesystem::path base_;
  std::string folder_;   ///< the list's, absolute, without a slash at its end
  std::string inside_;   ///< the deepest folder that holds all places inside
  std::string outside_;  ///< the same for places outside; after finish() for all places
  bool any_inside_ = false, any_outside_ = false;
};

}  // namespace packhorse

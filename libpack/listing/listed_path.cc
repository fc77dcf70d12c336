#include "listing/listed_path.h"

#include <algorithm>

#include "listing/names.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// Whether normalising would change nothing. Most paths are like that, and this check is quick.
bool is_normal(std::string_view path) {
  return path != "." && path.find("//") == std::string_view::npos &&
         path.find("./") == std::string_view::npos && !path.ends_with("/.") &&
         !path.ends_with("..") && !path.ends_with('/');
}

/// Shortens `common` to the folder that holds it and `folder`.
void narrow(std::string& common, std::string_view folder) {
  if (common == folder) return;
  const std::size_t n = std::min(common.size(), folder.size());
  const auto end = static_cast<std::size_t>(
      std::mismatch(common.begin(), common.begin() + static_cast<std::ptrdiff_t>(n), folder.begin())
          .first -
      common.begin());
  const bool whole = end == n && (common.size() == n || common[n] == '/') &&
                     (folder.size() == n || folder[n] == '/');
  if (whole) {
    common.resize(end);
  } else {
    const std::size_t slash = end == 0 ? std::string::npos : common.rfind('/', end - 1);
    common.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

ListedPaths::ListedPaths(const fs::path& folder)
    : base_(folder), folder_(fs::absolute(folder).lexically_normal().string()) {
  if (folder_.ends_with('/')) folder_.pop_back();
}

std::string ListedPaths::place(std::string_view path) const {
  if (is_normal(path) && path.front() != '/') return std::string(path);
  const std::string whole = (fs::path(folder_ + '/') / path).lexically_normal().string();
  const bool inside = whole.starts_with(folder_) && whole[folder_.size()] == '/';
  return inside ? whole.substr(folder_.size() + 1) : whole;
}

void ListedPaths::add(const std::string& place) {
  const bool outside = place.starts_with('/');
  bool& any = outside ? any_outside_ : any_inside_;
  std::string& common = outside ? outside_ : inside_;
  if (!any) {
    common = naming::directory_of(place);
  } else {
    narrow(common, naming::directory_of(place));
  }
  any = true;
}

void ListedPaths::finish() {
  if (!any_outside_) return;
  if (any_inside_) narrow(outside_, inside_.empty() ? folder_ : folder_ + '/' + inside_);
  base_ = outside_ + '/';
}

std::string ListedPaths::stored(std::string_view place) const {
  if (!any_outside_) return std::string(place);
  if (place.starts_with('/')) return std::string(place.substr(outside_.size() + 1));
  return (folder_ + '/').append(place).substr(outside_.size() + 1);
}

}  // namespace packhorse

#include "packhorse/dataset/remote_files.h"

#include <atomic>

namespace packhorse {

namespace {

std::atomic<RemoteOpener> remote_opener{nullptr};

/// "s3://bucket/a": as fs::path keeps it, whose own operators leave double slashes alone.
bool looks_like_url(std::string_view text) {
  return text.find("://") != std::string_view::npos && text.find('/') > text.find("://");
}

}  // namespace

void set_remote_opener(RemoteOpener opener) { remote_opener = opener; }

std::shared_ptr<RemoteFiles> open_remote(const std::filesystem::path& path) {
  if (!looks_like_url(path.native())) return nullptr;
  const RemoteOpener opener = remote_opener;
  if (opener == nullptr) refuse_url(path.native());
  return opener == nullptr ? nullptr : opener(path.native());
}

}  // namespace packhorse

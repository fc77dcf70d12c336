#include "packhorse/dataset/remote_files.h"

#include <atomic>

namespace packhorse {

namespace {

std::atomic<RemoteOpener> remote_opener{nullptr};

}  // namespace

void set_remote_opener(RemoteOpener opener) { remote_opener = opener; }

std::shared_ptr<RemoteFiles> open_remote(const std::filesystem::path& path) {
  if (!is_url(path.native())) return nullptr;
  const RemoteOpener opener = remote_opener;
  if (opener == nullptr) refuse_url(path.native());  // throws
  return opener(path.native());
}

}  // namespace packhorse

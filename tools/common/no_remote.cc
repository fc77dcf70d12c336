#include "common/remote.h"
#include "packhorse/base/file.h"

// Built without PACKHORSE_STORAGE.
namespace packhorse::program {

void RemoteArguments::setup(CLI::App&) {}

bool RemoteArguments::enable(const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) refuse_url(path);
  return false;
}

}  // namespace packhorse::program

#include "packhorse/formats/library_versions.h"

#include <openssl/crypto.h>
#include <tbb/version.h>
#include <xxhash.h>

#include "packhorse/formats/format.h"

namespace packhorse {

std::vector<std::pair<std::string, std::string>> library_versions() {
  std::vector<std::pair<std::string, std::string>> versions;
  for (const Format* format : all_formats())
    versions.emplace_back(format->name, format->library_version());
  versions.emplace_back("openssl", OpenSSL_version(OPENSSL_VERSION));
  versions.emplace_back("tbb", TBB_runtime_version());
  const unsigned xxhash = XXH_versionNumber();
  versions.emplace_back("xxhash", std::to_string(xxhash / 10000) + "." +
                                      std::to_string(xxhash / 100 % 100) + "." +
                                      std::to_string(xxhash % 100));
  return versions;
}

}  // namespace packhorse

#pragma once

#include <map>
#include <optional>
#include <string>

#include "storage/http/credentials.h"

namespace packhorse {

/// What AWS's two files say under one name.
struct Profile {
  std::string name;
  bool named = false;  ///< by AWS_PROFILE, so that it must be there
  bool found = false;
  std::string places = {};  ///< the two files, for messages
  std::map<std::string, std::string> settings = {};  ///< config's, under those of credentials
  std::map<std::string, std::string> services = {};  ///< of the part that `services` names

  /// A setting that is there and not empty.
  std::optional<std::string> setting(const std::string& setting_name) const;
};

/// Reads AWS_CONFIG_FILE (~/.aws/config) and AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials).
/// Throws Error(kUsage | kIo) with the file's path.
Profile read_profile(const Surroundings& around);

/// A path as AWS's files have them: "~/" is the home directory.
std::string with_home(const Surroundings& around, const std::string& path);

}  // namespace packhorse

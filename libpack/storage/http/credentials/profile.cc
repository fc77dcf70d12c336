#include "storage/http/credentials/profile.h"

#include "packhorse/base/error.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

using Settings = std::map<std::string, std::string>;

std::string file_of(const Surroundings& around, const char* variable, const char* usual) {
  return with_home(around, variable_of(around, variable).value_or(usual));
}

IniFile read_ini(const Surroundings& around, const std::string& path) {
  const auto text = around.file(path);
  if (!text) return {};
  try {
    return parse_ini(*text);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path, error.advice());
  }
}

const Settings* part_of(const IniFile& file, const std::string& name) {
  const auto at = file.find(name);
  return at == file.end() ? nullptr : &at->second;
}

/// Keys belong together: where one file has a key of its own, none of the other's are added to it.
void put_over(Settings& below, const Settings& above) {
  constexpr const char* kKeys[] = {"aws_access_key_id", "aws_secret_access_key",
                                   "aws_session_token"};
  if (above.contains(kKeys[0])) {
    for (const char* key : kKeys) below.erase(key);
  }
  for (const auto& [name, value] : above) below[name] = value;
}

}  // namespace

std::string with_home(const Surroundings& around, const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const auto home = variable_of(around, "HOME");
  return home ? *home + path.substr(1) : path;
}

std::optional<std::string> Profile::setting(const std::string& setting_name) const {
  const auto at = settings.find(setting_name);
  if (at == settings.end() || at->second.empty()) return std::nullopt;
  return at->second;
}

Profile read_profile(const Surroundings& around) {
  const auto named = variable_of(around, "AWS_PROFILE");
  const std::string config_path = file_of(around, "AWS_CONFIG_FILE", "~/.aws/config");
  const std::string keys_path =
      file_of(around, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  const IniFile config = read_ini(around, config_path), keys = read_ini(around, keys_path);
  Profile profile{.name = named.value_or("default"),
                  .named = named.has_value(),
                  .places = keys_path + " and " + config_path};
  const Settings* part = part_of(config, "profile " + profile.name);
  if (part == nullptr && profile.name == "default") part = part_of(config, "default");
  const Settings* const key_part = part_of(keys, profile.name);
  profile.found = part != nullptr || key_part != nullptr;
  if (part != nullptr) profile.settings = *part;
  if (key_part != nullptr) put_over(profile.settings, *key_part);
  if (const auto services = profile.setting("services")) {
    const Settings* const of_services = part_of(config, "services " + *services);
    if (of_services != nullptr) profile.services = *of_services;
  }
  return profile;
}

}  // namespace packhorse

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "dataset/url.h"
#include "packhorse/base/error.h"
#include "storage/http/credentials.h"
#include "storage/http/credentials/sources.h"

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

namespace {

constexpr std::size_t kMostIniBytes = 1u << 20;

[[noreturn]] void refuse_line(std::size_t number, const char* why) {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(number) + " " + why, {},
              "the AWS CLI's `aws configure` writes such files");
}

/// Without a comment at its end: '#' or ';' behind white space.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if ((text[i] == '#' || text[i] == ';') && is_blank(text[i - 1])) return text.substr(0, i);
  }
  return text;
}

/// One space for several, and none of the quotes of [profile "a name"].
std::string part_name(std::string_view text) {
  std::string name;
  bool space = false;
  for (const char c : text) {
    if (c == '"' || c == '\'') continue;
    if (is_blank(c)) {
      space = !name.empty();
      continue;
    }
    if (space) name += ' ';
    space = false;
    name += c;
  }
  return name;
}

class IniReader {
 public:
  void take(std::string_view line) {
    ++number_;
    if (std::ranges::any_of(line, [](unsigned char c) {
          return (c < 0x20 && c != '\t' && c != '\r') || c == 0x7f;
        }))
      refuse_line(number_, "has control characters");
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (indent == std::string_view::npos || line[indent] == '#' || line[indent] == ';') return;
    if (line[indent] == '[') {
      begin_part(trimmed(line));
    } else if (indent > indent_ && !name_.empty()) {
      take_inner(trimmed(line));
    } else {
      indent_ = indent;
      take_setting(trimmed(line));
    }
  }

  IniFile finish() { return std::move(file_); }

 private:
  void begin_part(std::string_view line) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) refuse_line(number_, "begins with '[', and lacks ']'");
    const std::string_view rest = trimmed(line.substr(end + 1));
    if (!rest.empty() && rest.front() != '#' && rest.front() != ';')
      refuse_line(number_, "goes on behind ']'");
    const std::string name = part_name(line.substr(1, end - 1));
    if (name.empty()) refuse_line(number_, "has no name in its brackets");
    part_ = &file_[name];
    name_.clear();
    indent_ = 0;
  }

  void take_setting(std::string_view line) {
    if (part_ == nullptr) refuse_line(number_, "is before the first line in brackets");
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse_line(number_, "has no '='");
    name_ = lower_case(trimmed(line.substr(0, equals)));
    if (name_.empty()) refuse_line(number_, "has nothing before its '='");
    // A comment needs white space before it; here that may be what stood behind the '='.
    (*part_)[name_] = trimmed(without_comment(line.substr(equals + 1)));
  }

  /// A setting below another, or text that goes on with it.
  void take_inner(std::string_view line) {
    std::string& outer = (*part_)[name_];
    const std::size_t equals = line.find('=');
    if (!outer.empty() || equals == std::string_view::npos) {
      if (!outer.empty()) outer += '\n';
      outer += line;
      return;
    }
    const std::string inner = lower_case(trimmed(line.substr(0, equals)));
    if (inner.empty()) refuse_line(number_, "has nothing before its '='");
    (*part_)[name_ + "." + inner] = trimmed(without_comment(line.substr(equals + 1)));
  }

  IniFile file_;
  std::map<std::string, std::string>* part_ = nullptr;
  std::string name_;        ///< of the last setting; empty: none in this part yet
  std::size_t indent_ = 0;  ///< of that setting
  std::size_t number_ = 0;  ///< of the line
};

}  // namespace

IniFile parse_ini(std::string_view text) {
  if (text.size() > kMostIniBytes)
    throw Error(ErrorKind::kUsage, "the file has more than 1 MiB", {}, "check whether it is it");
  text = without_byte_order_mark(text);
  IniReader reader;
  while (!text.empty()) reader.take(take_part(text, '\n'));
  return reader.finish();
}

namespace {

constexpr const char* kUsualRegion = "us-east-1";

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool is_true(const std::optional<std::string>& value) {
  return value && lower_case(*value) == "true";
}

std::string of_profile(const char* setting, const Profile& profile) {
  return std::string(setting) + " of the profile '" + printable(profile.name) + "'";
}

}  // namespace

bool is_region(std::string_view text) {
  constexpr std::size_t kMost = 63;
  return !text.empty() && text.size() <= kMost && text.front() != '-' &&
         std::ranges::all_of(text, [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_';
         });
}

void check_region(const std::string& region, const std::string& where) {
  if (is_region(region)) return;
  throw Error(ErrorKind::kUsage, where + " is not a region: one has letters, digits and hyphens",
              {}, "give one like eu-west-1; servers that have none take us-east-1");
}

std::string region_of(const Surroundings& around, const Profile& profile) {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (const auto region = variable_of(around, name)) {
      check_region(*region, name);
      return *region;
    }
  }
  const auto region = profile.setting("region");
  if (region) check_region(*region, of_profile("region", profile));
  return region.value_or(kUsualRegion);
}

std::string checked_endpoint(const std::string& text, const std::string& where) {
  constexpr const char* kAdvice = "give one like https://storage.example.com:9000";
  Url url;
  try {
    url = parse_url(text);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, where + ": " + error.what(), {}, kAdvice);
  }
  if (url.scheme == "s3" || !url.query.empty())
    throw Error(ErrorKind::kUsage, where + " is not an endpoint: it is a bucket, or has a query",
                {}, kAdvice);
  std::string endpoint = url.scheme + "://" + url.host;
  if (!url.path.empty()) endpoint += "/" + percent_encoded(url.path, true);
  return endpoint;
}

std::optional<std::string> endpoint_of(const Surroundings& around, const Profile& profile,
                                       const std::string& service) {
  if (is_true(variable_of(around, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) ||
      is_true(profile.setting("ignore_configured_endpoint_urls")))
    return std::nullopt;
  for (const std::string& name :
       {"AWS_ENDPOINT_URL_" + upper_case(service), std::string("AWS_ENDPOINT_URL")}) {
    if (const auto text = variable_of(around, name.c_str())) return checked_endpoint(*text, name);
  }
  const auto of_service = profile.services.find(service + ".endpoint_url");
  if (of_service != profile.services.end() && !of_service->second.empty())
    return checked_endpoint(of_service->second, of_profile("endpoint_url in services", profile));
  if (const auto text = profile.setting("endpoint_url"))
    return checked_endpoint(*text, of_profile("endpoint_url", profile));
  return std::nullopt;
}

std::string aws_endpoint(const std::string& service, const std::string& region) {
  const std::string domain = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  return "https://" + service + "." + region + domain;
}

S3Place S3Place::in_region(const std::string& other) const {
  S3Place place = *this;
  place.region = other;
  if (of_aws) place.endpoint = aws_endpoint("s3", other);
  return place;
}

S3Place s3_place(const StorageOptions& options, const Surroundings& around) {
  const Profile profile = read_profile(around);
  S3Place place;
  if (!options.region.empty()) check_region(options.region, "the region that was given");
  place.region = options.region.empty() ? region_of(around, profile) : options.region;
  const auto given = options.endpoint.empty()
                         ? endpoint_of(around, profile, "s3")
                         : checked_endpoint(options.endpoint, "the endpoint that was given");
  place.of_aws = !given;
  place.endpoint = given.value_or(aws_endpoint("s3", place.region));
  const std::string host = parse_url(place.endpoint).host;
  const auto style = profile.settings.find("s3.addressing_style");
  place.virtual_host = host.starts_with("s3.") &&
                       (host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn"));
  if (style != profile.settings.end() && style->second == "virtual") place.virtual_host = true;
  if (style != profile.settings.end() && style->second == "path") place.virtual_host = false;
  return place;
}

}  // namespace packhorse

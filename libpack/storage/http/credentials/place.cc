#include "storage/http/credentials/place.h"

#include <algorithm>
#include <cctype>

#include "base/ascii.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "packhorse/dataset/url.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

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

void check_region(const std::string& region, const std::string& where) {
  constexpr std::size_t kMost = 63;
  const bool valid = !region.empty() && region.size() <= kMost && region.front() != '-' &&
                     std::all_of(region.begin(), region.end(), [](unsigned char c) {
                       return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_';
                     });
  if (valid) return;
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

S3Place s3_place(const StorageOptions& options, const Surroundings& around) {
  const Profile profile = read_profile(around);
  S3Place place;
  if (!options.region.empty()) check_region(options.region, "the region that was given");
  place.region = options.region.empty() ? region_of(around, profile) : options.region;
  const auto given = options.endpoint.empty()
                         ? endpoint_of(around, profile, "s3")
                         : checked_endpoint(options.endpoint, "the endpoint that was given");
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

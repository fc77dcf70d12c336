#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "storage/http/credentials.h"

namespace packhorse {

/// What AWS's two files say under one name.
struct Profile {
  std::string name;
  bool named = false;  ///< by AWS_PROFILE, so that it must be there
  bool found = false;
  std::string places = {};                           ///< the two files, for messages
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

// Where a service of AWS's is, or one that stands in for it.

/// By AWS_REGION, AWS_DEFAULT_REGION or the profile; else "us-east-1". Throws Error(kUsage) for one
/// that cannot be part of a host's name.
std::string region_of(const Surroundings& around, const Profile& profile);
void check_region(const std::string& region, const std::string& where);

/// An endpoint that was set, as a URL without a slash at its end, and whose it is.
/// `service` is "s3" or "sts"; nothing: that of AWS. Throws Error(kUsage).
std::optional<std::string> endpoint_of(const Surroundings& around, const Profile& profile,
                                       const std::string& service);
/// `where` the text comes from, for messages.
std::string checked_endpoint(const std::string& text, const std::string& where);

/// "https://s3.eu-west-1.amazonaws.com"
std::string aws_endpoint(const std::string& service, const std::string& region);

// Small things that the sources of credentials share.

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Whether it is printable ASCII, with or without spaces inside: what may stand in a header.
inline bool is_header_text(std::string_view text, bool spaces) {
  for (const char c : text) {
    if (c < (spaces ? 0x20 : 0x21) || c > 0x7e) return false;
  }
  return true;
}

/// A variable of the environment; an empty one counts as none, as AWS has it.
inline std::optional<std::string> variable_of(const Surroundings& around, const char* name) {
  std::optional<std::string> value = around.variable(name);
  if (value && value->empty()) value.reset();
  return value;
}

// Answers that hold credentials, from services and programs. What is wrong with one is said
// without its text, since that may hold keys.

/// "2013-05-24T00:00:00Z", also with a fraction of a second, which is dropped, and an offset
/// ("+02:00"). Years beyond 2200 count as that one: the clock cannot count much further.
std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text);

/// The fields of an answer, as one writes them; empty: not there.
struct CredentialFields {
  std::string access_key, secret_key, session_token, expires;
};

/// `source` for messages: "the container's answer". Throws Error(kIo) for fields that are missing
/// or that keys cannot have, and for credentials that have already ended.
Credentials checked_credentials(const CredentialFields& fields, const std::string& source,
                                std::chrono::system_clock::time_point now);

/// {"AccessKeyId": ..., "SecretAccessKey": ..., `token_name`: ..., "Expiration": ...}.
/// Throws Error(kIo).
CredentialFields fields_in_json(std::string_view json, const char* token_name,
                                const std::string& source);

// The sources that the chain asks, one after the other. Each returns nothing when it is not set
// up, and throws when it is, but gives no credentials.

std::optional<Credentials> from_environment(const Surroundings& around);

/// Keys that stand in the profile. Throws Error(kUnsupported) for a profile that takes on a role by
/// another profile's keys, or logs in (SSO): keys beside that would be somebody else's.
std::optional<Credentials> from_profile_keys(const Surroundings& around, const Profile& profile);

/// A token that a cluster wrote into a file, exchanged for credentials by AWS's token service
/// (AssumeRoleWithWebIdentity,
/// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html). Named
/// by variables, or by the profile.
std::optional<Credentials> from_web_identity_variables(const Surroundings& around,
                                                       const CredentialFetch& fetch,
                                                       const Profile& profile);
std::optional<Credentials> from_web_identity_profile(const Surroundings& around,
                                                     const CredentialFetch& fetch,
                                                     const Profile& profile);

/// What the program that the profile names prints
/// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).
std::optional<Credentials> from_process(const Surroundings& around, const Profile& profile);

/// ECS and EKS
/// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html).
std::optional<Credentials> from_container(const Surroundings& around, const CredentialFetch& fetch);

/// EC2's metadata, IMDSv2. When nothing is returned, `why_not` says why.
std::optional<Credentials> from_instance(const Surroundings& around, const CredentialFetch& fetch,
                                         std::string& why_not);

/// A command line as a shell takes it apart: white space, quotes, backslashes, and nothing else.
/// Throws Error(kUsage) for a quote without its end.
std::vector<std::string> split_command(std::string_view text);

}  // namespace packhorse

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "packhorse/storage/object_store.h"

namespace packhorse {

class HttpClient;

/// What requests are signed with. Never printed.
struct Credentials {
  std::string access_key, secret_key;
  std::string session_token;  ///< empty: none
  /// From then on they are not accepted; nothing: they stay.
  std::optional<std::chrono::system_clock::time_point> expires = {};
};

/// What surrounds a process, so that tests can say it.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string&)> variable;  ///< of the environment
  std::function<std::optional<std::string>(const std::string&)> file;  ///< its text, up to 1 MiB
  std::function<std::chrono::system_clock::time_point()> now;
  static Surroundings of_process();
};

/// A part of an ini file as AWS has them: "[profile name]" in config, "[name]" in credentials.
/// Throws Error(kUsage), naming the line but not its text.
using IniFile = std::map<std::string, std::map<std::string, std::string>>;
IniFile parse_ini(std::string_view text);

/// The usual chain of AWS: environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
/// AWS_SESSION_TOKEN), web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN), the profile
/// (AWS_PROFILE, "default") of ~/.aws/credentials and ~/.aws/config (static keys; web identity;
/// credential_process), containers (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI with
/// AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE), and the instance's metadata (IMDSv2; unless
/// AWS_EC2_METADATA_DISABLED is true). Thread-safe.
class CredentialChain {
 public:
  /// `client` is used for those that are asked for over HTTP, and must outlive the chain.
  CredentialChain(HttpClient& client, Surroundings around);
  ~CredentialChain();

  /// Those to sign with now: kept until five minutes before they end, then asked for anew, by one
  /// thread while the others go on with the old ones as long as these are valid. Throws
  /// Error(kUsage) when there are none, which names what was looked at, or Error(kIo).
  Credentials get();
  /// After an answer that they have expired: the next get() asks anew.
  void expired();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The region and the endpoint of s3 by options, environment and profile; AWS's own for the region
/// when none is named: "https://s3.<region>.amazonaws.com", region "us-east-1".
struct S3Place {
  std::string endpoint;  ///< without a slash at its end
  std::string region;
  bool virtual_host;  ///< buckets are names of hosts (AWS), not the first part of paths
};
S3Place s3_place(const StorageOptions& options, const Surroundings& around);

}  // namespace packhorse

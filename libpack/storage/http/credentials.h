#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/object_store.h"

namespace packhorse {

struct HttpRequest;
struct HttpResponse;

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
  /// A file's text, up to 1 MiB; nothing when it is not there. Throws Error.
  std::function<std::optional<std::string>(const std::string&)> file;
  std::function<std::chrono::system_clock::time_point()> now;
  static Surroundings of_process();
};

/// A part of an ini file as AWS has them: "[profile name]" in config, "[name]" in credentials.
/// Names of parts have one space for several and no quotes, those of settings are in lower case. A
/// setting with others below it, further in, gives them its name: "s3.endpoint_url".
/// Throws Error(kUsage), naming the line but not its text.
using IniFile = std::map<std::string, std::map<std::string, std::string>>;
IniFile parse_ini(std::string_view text);

/// How long an answer may take. kNear: from a service of this machine, which answers at once or is
/// not there.
enum class Patience { kNear, kFar };

/// Sends a request and waits for its answer, whatever its status. Throws Error(kIo) where there is
/// none, or where the service stays overloaded (429, 5xx).
using CredentialFetch = std::function<HttpResponse(const HttpRequest&, Patience)>;
/// By an HttpClient that is made for this one request.
HttpResponse fetch_over_http(const HttpRequest& request, Patience patience);

/// The usual chain of AWS: environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
/// AWS_SESSION_TOKEN), web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN), the profile
/// (AWS_PROFILE, "default") of ~/.aws/credentials and ~/.aws/config (static keys; web identity;
/// credential_process), containers (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI with
/// AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE), and the instance's metadata (IMDSv2; unless
/// AWS_EC2_METADATA_DISABLED is true). Thread-safe.
///
/// It has no part in the client whose requests it signs: that client's threads call get() when they
/// make a request anew, and would wait for themselves.
class CredentialChain {
 public:
  explicit CredentialChain(Surroundings around);  ///< asks by fetch_over_http()
  CredentialChain(Surroundings around, CredentialFetch fetch);
  ~CredentialChain();  ///< waits for what is being asked, a minute at most
  CredentialChain(const CredentialChain&) = delete;
  CredentialChain& operator=(const CredentialChain&) = delete;

  /// Those to sign with now. The first call waits for them, and so does one after they have ended.
  /// From five minutes before their end they are asked for anew in a thread of the chain, while
  /// callers go on with the old ones. Throws Error(kUsage) when there are none, which names what
  /// was looked at, Error(kUnsupported) for a profile that needs more than the above, or
  /// Error(kIo).
  Credentials get();
  /// After an answer that they have expired: the next get() asks anew, unless they are some seconds
  /// old and the answer was to a request of before.
  void expired();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The region and the endpoint of s3 by options, environment and profile; AWS's own for the region
/// when none is named: "https://s3.<region>.amazonaws.com", region "us-east-1".
/// Throws Error(kUsage).
struct S3Place {
  std::string endpoint;  ///< encoded, without a slash at its end; it may have a path
  std::string region;
  /// Buckets are names of hosts (AWS), not the first part of paths. Buckets with dots or capitals
  /// in their names are parts of paths all the same: certificates do not cover them.
  bool virtual_host = false;
  bool of_aws = false;  ///< the endpoint is AWS's for the region

  /// The place of a bucket of another region at the same storage.
  S3Place in_region(const std::string& other) const;
};
/// Whether it may be the name of a region.
bool is_region(std::string_view text);
S3Place s3_place(const StorageOptions& options, const Surroundings& around);

}  // namespace packhorse

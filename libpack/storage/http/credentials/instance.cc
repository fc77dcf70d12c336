#include <algorithm>

#include "base/ascii.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/url.h"
#include "storage/http/client.h"
#include "storage/http/credentials/answer.h"
#include "storage/http/credentials/place.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

constexpr const char* kMetadataHost = "http://169.254.169.254";
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";
constexpr const char* kInstance = "the answer of the instance's metadata";
constexpr std::uint64_t kMostMetadata = 64u << 10;
constexpr int kAnswered = 200, kNothingThere = 404;

HttpRequest metadata_request(const std::string& url) {
  HttpRequest request;
  request.url = request.shown = url;
  request.most = kMostMetadata;
  return request;
}

/// The token that each question must bear: one that is read by a PUT cannot be had by tricking a
/// server into fetching a URL. Nothing when there is no metadata here.
std::optional<std::string> metadata_token(const CredentialFetch& fetch, const std::string& host,
                                          std::string& why_not) {
  HttpRequest request = metadata_request(host + "/latest/api/token");
  request.method = "PUT";
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "60"}};
  HttpResponse response;
  try {
    response = fetch(request, Patience::kNear);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    why_not = "did not answer";
    return std::nullopt;
  }
  const std::string_view token = trimmed(as_text(response.body));
  if (response.status == kAnswered && !token.empty() && is_header_text(token, false))
    return std::string(token);
  why_not = "gave no token: HTTP " + std::to_string(response.status);
  return std::nullopt;
}

/// The answer to a question, or nothing where there is nothing (404).
std::optional<std::string> metadata(const CredentialFetch& fetch, const std::string& url,
                                    const std::string& token) {
  HttpRequest request = metadata_request(url);
  request.headers = {{"x-aws-ec2-metadata-token", token}};
  const HttpResponse response = fetch(request, Patience::kNear);
  if (response.status == kNothingThere) return std::nullopt;
  if (response.status != kAnswered)
    throw Error(ErrorKind::kIo,
                "the instance's metadata answers HTTP " + std::to_string(response.status), url,
                "check the role of the instance");
  return std::string(trimmed(as_text(response.body)));
}

bool is_role(std::string_view name) {
  constexpr std::size_t kMost = 128;
  return !name.empty() && name.size() <= kMost && is_header_text(name, false);
}

}  // namespace

std::optional<Credentials> from_instance(const Surroundings& around, const CredentialFetch& fetch,
                                         std::string& why_not) {
  if (lower_case(variable_of(around, "AWS_EC2_METADATA_DISABLED").value_or("")) == "true") {
    why_not = "is switched off by AWS_EC2_METADATA_DISABLED";
    return std::nullopt;
  }
  const auto set = variable_of(around, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string host =
      set ? checked_endpoint(*set, "AWS_EC2_METADATA_SERVICE_ENDPOINT") : kMetadataHost;
  const auto token = metadata_token(fetch, host, why_not);
  if (!token) return std::nullopt;
  const auto roles = metadata(fetch, host + kRolePath, *token);
  if (!roles) {
    why_not = "has no role";
    return std::nullopt;
  }
  const std::string role = roles->substr(0, roles->find('\n'));
  if (!is_role(role))
    throw Error(ErrorKind::kIo, "the instance's metadata does not name a role", host,
                "check the role of the instance");
  const auto answer = metadata(fetch, host + kRolePath + percent_encoded(role, false), *token);
  if (!answer)
    throw Error(ErrorKind::kIo, "the instance's metadata has a role without credentials", host,
                "wait a minute if the role was just given to the instance");
  return checked_credentials(fields_in_json(*answer, "Token", kInstance), kInstance, around.now());
}

}  // namespace packhorse

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <pugixml.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "dataset/url.h"
#include "packhorse/base/error.h"
#include "storage/http/client.h"
#include "storage/http/credentials/sources.h"

namespace packhorse {

namespace {

constexpr const char* kEcsHost = "http://169.254.170.2";
constexpr const char* kContainer = "the answer of the container's credential service";
constexpr std::uint64_t kMostContainerAnswer = 64u << 10;
constexpr std::size_t kMostAuthorization = 16u << 10;

/// Without its port, and an IPv6 address without its brackets.
std::string bare_host(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Addresses that no other machine can have: this machine's own, and those at which AWS's agents
/// answer. No other name: whoever answers for names could send the token elsewhere.
bool is_near(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    const std::uint32_t address = ntohl(v4.s_addr);
    constexpr std::uint32_t kLoopback = 127, kEcs = 0xa9fe'aa02, kEks = 0xa9fe'aa17;
    return address >> 24 == kLoopback || address == kEcs || address == kEks;
  }
  using Address6 = std::array<std::uint8_t, 16>;
  constexpr Address6 kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr Address6 kEks6 = {0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23};
  Address6 v6{};
  return ::inet_pton(AF_INET6, host.c_str(), v6.data()) == 1 && (v6 == kLoopback6 || v6 == kEks6);
}

void check_service(const std::string& url, const char* variable) {
  if (!is_header_text(url, false))
    throw Error(ErrorKind::kUsage, std::string(variable) + " is not a URL", {},
                "percent-encode it");
  const Url place = parse_url(url);
  if (place.scheme == "https" || (place.scheme == "http" && is_near(bare_host(place.host)))) return;
  throw Error(ErrorKind::kUsage, std::string(variable) + " leads over a network without encryption",
              place.shown(),
              "give one that begins with https://, or that of an agent on this machine");
}

std::optional<std::string> service_url(const Surroundings& around) {
  if (const auto relative = variable_of(around, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    if (!relative->starts_with('/'))
      throw Error(ErrorKind::kUsage,
                  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash", {},
                  "give a path, or a whole URL as AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const std::string url = kEcsHost + *relative;
    check_service(url, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    return url;
  }
  auto full = variable_of(around, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full) check_service(*full, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  return full;
}

/// The file is read each time: agents write a new token into it.
std::optional<std::string> authorization(const Surroundings& around) {
  std::optional<std::string> token = variable_of(around, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const auto file = variable_of(around, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (file) token = around.file(*file);
  if (file && !token)
    throw Error(ErrorKind::kNotFound, "the file with the container's token is not there", *file,
                "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!token) return std::nullopt;
  const std::string_view text = trimmed(*token);
  if (text.empty() || text.size() > kMostAuthorization || !is_header_text(text, true))
    throw Error(
        ErrorKind::kUsage, "the container's token cannot be sent in a header", file.value_or(""),
        "check AWS_CONTAINER_AUTHORIZATION_TOKEN and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return std::string(text);
}

}  // namespace

std::optional<Credentials> from_container(const Surroundings& around,
                                          const CredentialFetch& fetch) {
  const auto url = service_url(around);
  if (!url) return std::nullopt;
  HttpRequest request;
  request.url = *url;
  request.shown = parse_url(*url).shown();
  request.headers = {{"accept", "application/json"}};
  if (const auto token = authorization(around))
    request.headers.emplace_back("authorization", *token);
  request.most = kMostContainerAnswer;
  const HttpResponse response = fetch(request, Patience::kNear);
  constexpr int kOk = 200;
  if (response.status != kOk)
    throw Error(
        ErrorKind::kIo,
        "the container's credential service answers HTTP " + std::to_string(response.status),
        request.shown, "check the role of the task or the pod");
  return checked_credentials(fields_in_json(as_text(response.body), "Token", kContainer),
                             kContainer, around.now());
}

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

namespace {

constexpr std::size_t kMostIdentityToken = 20'000;  // AWS's own limit
constexpr std::uint64_t kMostTokenAnswer = 256u << 10;
constexpr const char* kTokenService = "the answer of the token service (STS)";

struct WebIdentity {
  std::string token_file, role, session;
};

std::string identity_token(const Surroundings& around, const std::string& file) {
  const auto text = around.file(with_home(around, file));
  if (!text)
    throw Error(ErrorKind::kNotFound, "the file with the web identity token is not there", file,
                "check AWS_WEB_IDENTITY_TOKEN_FILE, or the profile's web_identity_token_file");
  const std::string_view token = trimmed(*text);
  if (token.empty() || token.size() > kMostIdentityToken || !is_header_text(token, false))
    throw Error(ErrorKind::kUsage, "the file does not hold a web identity token", file,
                "check AWS_WEB_IDENTITY_TOKEN_FILE, or the profile's web_identity_token_file");
  return std::string(token);
}

/// The code of an error, such as "AccessDenied", which is a word of letters.
std::string error_code(const pugi::xml_document& document) {
  constexpr std::size_t kMost = 64;
  const std::string code =
      document.child("ErrorResponse").child("Error").child("Code").text().get();
  const bool word = code.size() <= kMost && std::ranges::all_of(code, [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
                    });
  return word ? code : std::string();
}

CredentialFields fields_in_xml(const HttpResponse& response, const std::string& role) {
  pugi::xml_document document;
  const bool parsed = document.load_buffer(response.body.data(), response.body.size());
  constexpr int kOk = 200;
  if (response.status != kOk) {
    const std::string code = parsed ? error_code(document) : std::string();
    throw Error(ErrorKind::kIo,
                "the token service (STS) refuses the role '" + printable(role) + "': HTTP " +
                    std::to_string(response.status) + (code.empty() ? "" : ", " + code),
                {}, "check the role's trust policy, and whether the token is still valid");
  }
  if (!parsed)
    throw Error(ErrorKind::kIo, std::string(kTokenService) + " is not XML", {},
                "check the endpoint of the token service (AWS_ENDPOINT_URL_STS)");
  const pugi::xml_node fields = document.child("AssumeRoleWithWebIdentityResponse")
                                    .child("AssumeRoleWithWebIdentityResult")
                                    .child("Credentials");
  return {fields.child("AccessKeyId").text().get(), fields.child("SecretAccessKey").text().get(),
          fields.child("SessionToken").text().get(), fields.child("Expiration").text().get()};
}

Credentials exchange_token(const Surroundings& around, const CredentialFetch& fetch,
                           const Profile& profile, const WebIdentity& identity) {
  const std::string endpoint =
      endpoint_of(around, profile, "sts").value_or(aws_endpoint("sts", region_of(around, profile)));
  const std::string form =
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
      percent_encoded(identity.role, false) +
      "&RoleSessionName=" + percent_encoded(identity.session, false) +
      "&WebIdentityToken=" + percent_encoded(identity_token(around, identity.token_file), false);
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint + "/";
  request.shown = request.url;
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = as_bytes(form);
  request.most = kMostTokenAnswer;
  const HttpResponse response = fetch(request, Patience::kFar);
  return checked_credentials(fields_in_xml(response, identity.role), kTokenService, around.now());
}

}  // namespace

std::optional<Credentials> from_web_identity_variables(const Surroundings& around,
                                                       const CredentialFetch& fetch,
                                                       const Profile& profile) {
  const auto file = variable_of(around, "AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = variable_of(around, "AWS_ROLE_ARN");
  const auto session = variable_of(around, "AWS_ROLE_SESSION_NAME");
  if (!file) return std::nullopt;
  if (!role)
    throw Error(ErrorKind::kUsage, "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not",
                {}, "set both, or neither");
  return exchange_token(around, fetch, profile, {*file, *role, session.value_or("packhorse")});
}

std::optional<Credentials> from_web_identity_profile(const Surroundings& around,
                                                     const CredentialFetch& fetch,
                                                     const Profile& profile) {
  const auto file = profile.setting("web_identity_token_file");
  const auto role = profile.setting("role_arn");
  if (!file) return std::nullopt;
  if (!role)
    throw Error(ErrorKind::kUsage,
                "the profile '" + printable(profile.name) +
                    "' has web_identity_token_file, but no role_arn",
                {}, "add role_arn to it");
  return exchange_token(around, fetch, profile,
                        {*file, *role, profile.setting("role_session_name").value_or("packhorse")});
}

}  // namespace packhorse

#include <algorithm>
#include <cctype>
#include <pugixml.hpp>

#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "packhorse/dataset/url.h"
#include "storage/http/client.h"
#include "storage/http/credentials/answer.h"
#include "storage/http/credentials/place.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

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
  const bool word = code.size() <= kMost && std::all_of(code.begin(), code.end(), [](char c) {
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

#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "storage/http/credentials/answer.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

/// What a person wrote is the person's to mend, and no input or output that failed.
Credentials as_written(const CredentialFields& fields, const std::string& source,
                       const Surroundings& around) {
  try {
    return checked_credentials(fields, source, around.now());
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, error.what(), error.path(), "set both keys as they were issued");
  }
}

[[noreturn]] void refuse_profile(const Profile& profile, const char* does) {
  throw Error(ErrorKind::kUnsupported, "the profile '" + printable(profile.name) + "' " + does, {},
              "run `eval \"$(aws configure export-credentials --profile " + printable(profile.name) +
                  " --format env)\"` first");
}

}  // namespace

std::optional<Credentials> from_environment(const Surroundings& around) {
  const auto access = variable_of(around, "AWS_ACCESS_KEY_ID");
  const auto secret = variable_of(around, "AWS_SECRET_ACCESS_KEY");
  const auto token = variable_of(around, "AWS_SESSION_TOKEN");
  if (!access && !secret) return std::nullopt;
  return as_written({access.value_or(""), secret.value_or(""), token.value_or(""), {}},
                    "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)", around);
}

std::optional<Credentials> from_profile_keys(const Surroundings& around, const Profile& profile) {
  if (profile.setting("source_profile") || profile.setting("credential_source"))
    refuse_profile(profile, "takes on a role by other credentials, which is not supported");
  const auto access = profile.setting("aws_access_key_id");
  const auto secret = profile.setting("aws_secret_access_key");
  const auto token = profile.setting("aws_session_token");
  if (access || secret)
    return as_written({access.value_or(""), secret.value_or(""), token.value_or(""), {}},
                      "the profile '" + printable(profile.name) + "'", around);
  if (profile.setting("sso_session") || profile.setting("sso_start_url"))
    refuse_profile(profile, "logs in by SSO, which is not supported");
  return std::nullopt;
}

}  // namespace packhorse

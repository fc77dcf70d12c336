#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/http/credentials.h"

/// Answers that hold credentials, from services and programs. What is wrong with one is said
/// without its text, since that may hold keys.
namespace packhorse {

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

}  // namespace packhorse

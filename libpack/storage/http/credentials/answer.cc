#include "storage/http/credentials/answer.h"

#include <algorithm>

#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostKeyBytes = 1024;
constexpr std::size_t kMostTokenBytes = 32u << 10;  // AWS names no limit; 8 KiB of headers is usual
constexpr JsonLimits kAnswerLimits = {.bytes = 128u << 10, .depth = 8, .members = 64};

[[noreturn]] void refuse_answer(const std::string& source, const char* why) {
  throw Error(ErrorKind::kIo, source + " " + why, {}, "check what hands the credentials out");
}

/// `digits` of them at `at`, as a number.
std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (text.size() < at + digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// "Z", "+02:00" or "-0230", in minutes.
std::optional<std::chrono::minutes> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool colon = text[3] == ':';
  const auto hours = number_at(text, 1, 2), minutes = number_at(text, colon ? 4 : 3, 2);
  if (!hours || !minutes || text.size() != (colon ? 6u : 5u) || *hours > 23 || *minutes > 59)
    return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return text[0] == '-' ? -offset : offset;
}

bool is_key(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && is_header_text(text, false);
}

std::string member(const ExactJson& json, const char* name, const std::string& source) {
  const auto at = json.find(name);
  if (at == json.end() || at->is_null()) return {};
  if (!at->is_string()) refuse_answer(source, "has a member of the wrong kind");
  return at->get<std::string>();
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  constexpr int kLastYear = 2200;
  if (text.size() <= kForm.size()) return std::nullopt;
  for (const std::size_t at : {4u, 7u, 10u, 13u, 16u}) {
    if (text[at] != kForm[at] && !(at == 10 && (text[at] == ' ' || text[at] == 't')))
      return std::nullopt;
  }
  const auto year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2),
             hour = number_at(text, 11, 2), minute = number_at(text, 14, 2),
             second = number_at(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  std::string_view zone = text.substr(kForm.size());
  if (zone.front() == '.') {
    const std::size_t end = zone.find_first_not_of("0123456789", 1);
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    zone.remove_prefix(end);
  }
  const auto offset = offset_of(zone);
  const std::chrono::year_month_day date(std::chrono::year(std::min(*year, kLastYear)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  constexpr int kFirstYear = 1970;
  if (!offset || !date.ok() || *year < kFirstYear || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) - *offset;
}

Credentials checked_credentials(const CredentialFields& fields, const std::string& source,
                                std::chrono::system_clock::time_point now) {
  if (fields.access_key.empty() || fields.secret_key.empty())
    refuse_answer(source, "lacks one of the two keys");
  if (!is_key(fields.access_key, kMostKeyBytes) || !is_key(fields.secret_key, kMostKeyBytes) ||
      (!fields.session_token.empty() && !is_key(fields.session_token, kMostTokenBytes)))
    refuse_answer(source, "has a key with characters that keys do not have, or one too long");
  Credentials credentials{fields.access_key, fields.secret_key, fields.session_token};
  if (fields.expires.empty()) return credentials;
  credentials.expires = parse_time(fields.expires);
  if (!credentials.expires) refuse_answer(source, "has a time of expiry that cannot be read");
  if (*credentials.expires <= now)
    throw Error(ErrorKind::kIo, source + " has credentials that have already expired", {},
                "check this machine's clock, and log in anew where one logs in");
  return credentials;
}

CredentialFields fields_in_json(std::string_view json, const char* token_name,
                                const std::string& source) {
  ExactJson parsed;
  try {
    parsed = parse_json(json, kAnswerLimits);
  } catch (const Error&) {
    // Its message may quote the text.
    refuse_answer(source, "is not JSON as it should be");
  }
  if (!parsed.is_object()) refuse_answer(source, "is not a JSON object");
  return {member(parsed, "AccessKeyId", source), member(parsed, "SecretAccessKey", source),
          member(parsed, token_name, source), member(parsed, "Expiration", source)};
}

}  // namespace packhorse

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "packhorse/base/error.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/program_output.h"

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
  const auto hours = number_at(text, 1, 2), minutes = number_at(text, colon ? 4u : 3u, 2);
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
  const auto year = number_at(text, 0, 4), month = number_at(text, 5, 2),
             day = number_at(text, 8, 2), hour = number_at(text, 11, 2),
             minute = number_at(text, 14, 2), second = number_at(text, 17, 2);
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
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) - *offset;
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
              "run `eval \"$(aws configure export-credentials --format env --profile " +
                  printable(profile.name) + ")\"` first");
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

namespace {

constexpr std::chrono::seconds kMostProcessTime{60};  // it may ask a server, or wait for a touch
constexpr std::size_t kMostPrinted = 64u << 10;
constexpr const char* kPrinted = "what the profile's credential_process printed";

[[noreturn]] void refuse_process(const std::string& program, const std::string& why) {
  throw Error(ErrorKind::kIo, "the profile's credential_process " + why, program,
              "run it by hand, and see what it says");
}

/// As execvp(3) looks for a program; start_process() takes a path.
std::string program_path(const Surroundings& around, const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const std::string path = variable_of(around, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (const std::string_view folder : split_text(path, ':')) {
    std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw Error(ErrorKind::kUsage, "the program of the profile's credential_process is not in PATH",
              name, "install it, or write its whole path");
}

void check_version(const std::string& text) {
  const auto json = parse_json(text);  // has been read before
  const auto version = json.find("Version");
  if (version == json.end() || !version->is_number_unsigned() || version->get<std::uint64_t>() != 1)
    throw Error(ErrorKind::kUnsupported, std::string(kPrinted) + " is not of version 1", {},
                "have it print {\"Version\": 1, ...}");
}

}  // namespace

std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> parts;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && is_blank(c)) {
      inside = false;
      continue;
    }
    if (!inside) parts.emplace_back();
    inside = true;
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size() &&
                         (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) {
      parts.back() += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      parts.back() += c;
    }
  }
  if (quote != 0)
    throw Error(ErrorKind::kUsage, "a command line has a quote without its end", {},
                "close it, or write \\ before it");
  return parts;
}

std::optional<Credentials> from_process(const Surroundings& around, const Profile& profile) {
  const auto line = profile.setting("credential_process");
  if (!line) return std::nullopt;
  std::vector<std::string> command = split_command(*line);
  if (command.empty() || command.front().empty())
    throw Error(ErrorKind::kUsage,
                "the profile '" + printable(profile.name) +
                    "' has a credential_process "
                    "that names no program",
                {}, "write the program's path first");
  command.front() = program_path(around, with_home(around, command.front()));
  // It may say keys on its stderr, AWS warns: that goes nowhere.
  const auto output = output_of(command, kMostPrinted, kMostProcessTime, true);
  if (!output) refuse_process(command.front(), "took longer than a minute");
  if (!output->status) refuse_process(command.front(), "prints more than 64 KiB");
  const std::string& text = output->text;
  const int status = *output->status;
  if (WIFSIGNALED(status))
    refuse_process(command.front(), "was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    refuse_process(command.front(), "failed with exit code " + std::to_string(WEXITSTATUS(status)));
  const CredentialFields fields = fields_in_json(text, "SessionToken", kPrinted);
  check_version(text);
  return checked_credentials(fields, kPrinted, around.now());
}

}  // namespace packhorse

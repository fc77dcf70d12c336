#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "packhorse/base/printable.h"
#include "storage/http/credentials/answer.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/credentials/text.h"
#include "storage/http/program_output.h"

namespace packhorse {

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
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code code;
    if (std::filesystem::is_regular_file(candidate, code) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    begin = end + 1;
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

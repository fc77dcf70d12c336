#include "storage/http/url_command.h"

#include <sys/wait.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "dataset/url.h"
#include "packhorse/base/error.h"
#include "storage/http/program_output.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostPrinted = 16u << 10;
constexpr std::size_t kMostUrls = 4096;

[[noreturn]] void refuse_command(ErrorKind kind, const std::string& program,
                                 const std::string& what) {
  throw Error(kind, "the command for URLs " + what, program,
              "run it by hand with an object's name as its last argument: it must print one URL");
}

/// What may stand in a request line as it is.
bool is_plain_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

UrlCommand::UrlCommand(std::vector<std::string> command, std::chrono::milliseconds most)
    : command_(std::move(command)), most_(most) {}

std::string UrlCommand::url(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = urls_.find(name);
    if (found != urls_.end()) return found->second;
  }
  std::string url = run(name);
  const std::lock_guard lock(mutex_);
  if (urls_.size() >= kMostUrls) urls_.clear();
  return urls_[name] = std::move(url);
}

void UrlCommand::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  urls_.erase(name);
}

std::string UrlCommand::run(const std::string& name) const {
  const std::string& program = command_.front();
  if (name.starts_with('-'))
    throw Error(
        ErrorKind::kUnsupported,
        "an object's name begins with '-': the command for URLs would take it for an option", name,
        "name the object otherwise");
  // env looks for the program where a shell would.
  std::vector<std::string> command = {"/usr/bin/env", "--"};
  command.insert(command.end(), command_.begin(), command_.end());
  command.push_back(name);
  std::optional<ProgramOutput> output = output_of(command, kMostPrinted, most_, false);
  if (!output) refuse_command(ErrorKind::kIo, program, "takes too long");
  if (!output->status) refuse_command(ErrorKind::kCorrupt, program, "prints more than 16 KiB");
  if (!WIFEXITED(*output->status) || WEXITSTATUS(*output->status) != 0)
    refuse_command(ErrorKind::kIo, program, "failed");
  std::string& text = output->text;
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  try {
    const Url url = parse_url(text);
    if (url.scheme != "s3" && is_plain_text(text)) return text;
  } catch (const Error&) {
    // What was printed may be a secret, and a mistyped one at that.
  }
  refuse_command(ErrorKind::kCorrupt, program, "prints something else than one URL of http(s)");
}

}  // namespace packhorse

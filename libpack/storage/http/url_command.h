#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace packhorse {

/// URLs that a command prints for the names of objects: StorageOptions::url_command. Thread-safe.
class UrlCommand {
 public:
  /// `most`: a command that takes longer is ended.
  explicit UrlCommand(std::vector<std::string> command,
                      std::chrono::milliseconds most = std::chrono::seconds(60));

  /// The URL of an object, as it was printed; the command is run once for each name. Throws
  /// Error(kIo) when it fails, kCorrupt when it prints anything but one URL of http or https.
  std::string url(const std::string& name);
  /// Runs the command again for the next url() of a name: the URL is not accepted any more.
  void forget(const std::string& name);

 private:
  std::string run(const std::string& name) const;

  const std::vector<std::string> command_;
  const std::chrono::milliseconds most_;
  std::mutex mutex_;
  std::map<std::string, std::string> urls_;
};

}  // namespace packhorse

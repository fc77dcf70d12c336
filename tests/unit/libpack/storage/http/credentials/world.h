#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"
#include "storage/http/client.h"
#include "storage/http/credentials.h"

namespace packhorse::test {

constexpr auto kNoon = std::chrono::sys_days(std::chrono::May / 24 / 2013) + std::chrono::hours(12);

/// A request, as it was sent.
struct Asked {
  std::string method, url, body;
  HttpHeaders headers;
  Patience patience;

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return "(none)";
  }
};

/// Everything around a chain: an environment, files, a clock, and services by their URLs. It must
/// outlive what it is handed to.
struct World {
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}}, files = {};
  std::chrono::system_clock::time_point now = kNoon;
  /// Answers by "METHOD URL". No such entry: the service is not there.
  std::map<std::string, std::function<HttpResponse()>> services = {};
  std::vector<Asked> asked = {};
  std::mutex mutex = {};  ///< for threads of a chain

  Surroundings surroundings() {
    return {[this](const std::string& name) { return find(variables, name); },
            [this](const std::string& path) { return find(files, path); },
            [this] {
              const std::scoped_lock lock(mutex);
              return now;
            }};
  }

  CredentialFetch fetch() {
    return [this](const HttpRequest& request, Patience patience) {
      std::function<HttpResponse()> service;
      {
        const std::scoped_lock lock(mutex);
        asked.push_back({request.method, request.url, std::string(as_text(request.body)),
                         request.headers, patience});
        const auto at = services.find(request.method + " " + request.url);
        if (at == services.end()) throw Error(ErrorKind::kIo, "nobody answers", request.shown);
        service = at->second;
      }
      return service();
    };
  }

  void serve(const std::string& request, std::string_view text, int status = 200) {
    HttpResponse response;
    response.status = status;
    const Bytes bytes = as_bytes(text);
    response.body.assign(bytes.begin(), bytes.end());
    const std::scoped_lock lock(mutex);
    services[request] = [response] { return response; };
  }

  void pass(std::chrono::seconds time) {
    const std::scoped_lock lock(mutex);
    now += time;
  }

 private:
  static std::optional<std::string> find(const std::map<std::string, std::string>& all,
                                         const std::string& name) {
    const auto at = all.find(name);
    if (at == all.end()) return std::nullopt;
    return at->second;
  }
};

/// What the error says that `work` throws, with its path and advice.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return std::string(error.what()) + " " + error.path().string() + " " + error.advice();
  }
  return "(no error)";
}

inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace packhorse::test

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse::simulation {

struct Request {
  std::string method, path;  ///< path: decoded, "/bucket/key"
  std::map<std::string, std::string> query, headers;
  std::string body;
  std::string text() const;  ///< for traces
};

struct Answer {
  int status = 200;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  bool is_checked = true;  ///< a list has no sum: nobody sees a wrong byte in it
};

/// A storage that speaks S3, as far as it is asked to here. It does at once, and whole or not at
/// all, whatever it is asked; on the way to it anything may happen (network.h).
class Bucket {
 public:
  struct Object {
    std::string content, sum;  ///< `sum`: what its writer says beside it
  };

  Answer take(const Request& request);

  const std::map<std::string, Object>& objects() const { return objects_; }
  /// Objects and uploads of keys that begin with a prefix.
  std::vector<std::string> keys(std::string_view prefix) const;
  std::vector<std::string> uploads(std::string_view prefix) const;
  std::uint64_t changes() const { return changes_; }
  /// The key of an object that was put in the place of another.
  const std::string& replaced() const { return replaced_; }
  /// Puts an object there before a world begins.
  void fill(const std::string& key, const std::string& content, const std::string& sum) {
    objects_[key] = {content, sum};
  }
  /// As SeaweedFS does: whoever completes an upload ends all others of the key.
  bool ends_other_uploads = false;

 private:
  struct Upload {
    std::string key, sum;
    std::map<int, std::string> parts;
  };
  void store(const std::string& key, Object object);
  Answer change(const Request& request, const std::string& key);
  Answer put(const Request& request, const std::string& key);
  Answer begin_upload(const Request& request, const std::string& key);
  Answer put_part(const Request& request, const std::string& key);
  Answer complete(const Request& request, const std::string& key);
  Answer get(const Request& request, const std::string& key) const;
  Answer list(const Request& request) const;
  Answer list_uploads(const Request& request) const;

  std::map<std::string, Object> objects_;
  std::map<std::string, Upload> uploads_;
  std::uint64_t begun_ = 0, changes_ = 0;
  std::string replaced_;
};

}  // namespace packhorse::simulation

#pragma once

#include <string>

#include "base/file.h"

namespace packhorse::test {

/// A connection to a port of this machine, for tests of servers.
class HttpClient {
 public:
  explicit HttpClient(int port);

  /// False when the other side has closed the connection.
  bool send(const std::string& text) const;
  /// Returns everything that comes until the other side closes the connection.
  std::string receive() const;
  std::string ask(const std::string& request) const;

 private:
  UniqueFd socket_;
};

}  // namespace packhorse::test

// The torch wheel has Gloo's code but not its headers, and c10d's ProcessGroupGloo.hpp includes
// them. These declarations are what it needs to compile; all definitions are in libtorch_cpu. They
// are less than Gloo's own, so nothing may be made from them but pointers: the test trainer_gloo
// looks that no class of Gloo's, and none derived from one, comes out of our code.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class Device;
struct UnboundBuffer {
  virtual ~UnboundBuffer() = default;
};

}  // namespace transport

namespace rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous
}  // namespace gloo

// The torch wheel has Gloo's code but not its headers, which c10d's ProcessGroupGloo.hpp includes.
// These declarations are enough to compile it; all definitions are in libtorch_cpu. They are
// smaller than Gloo's own, so only pointers to them may be made: the test trainer_gloo checks that
// our code defines no class of Gloo's and none derived from one.
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

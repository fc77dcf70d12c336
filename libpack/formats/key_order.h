#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "packhorse/error.h"

namespace packhorse {

/// Every writer's promise that keys are strictly increasing, which is what makes them unique too.
class KeyOrder {
 public:
  void check(std::string_view key, const std::filesystem::path& shard) {
    if (!last_.empty() && key <= last_) {
      throw Error(ErrorKind::kUsage, "keys must be strictly increasing", shard, {},
                  std::string(key));
    }
    last_ = key;
  }

 private:
  std::string last_;
};

}  // namespace packhorse

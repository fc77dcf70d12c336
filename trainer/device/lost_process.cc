#include "device/lost_process.h"

#include <array>
#include <string_view>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

void throw_lost_process(const std::string& message) {
  throw Error(
      ErrorKind::kIo,
      "another process of this training has ended or hangs: " +
          message.substr(0, message.find('\n')),
      {},
      "look at the messages of the other processes, then start all of them again with `resume=`");
}

bool tells_of_lost_process(const std::string& message) {
  static constexpr std::array<std::string_view, 7> kSigns = {"Connection closed by peer",
                                                             "Connection reset by peer",
                                                             "Timed out waiting",
                                                             "Broken pipe",
                                                             "Read timeout",
                                                             "NCCL error",
                                                             "wait timeout"};
  for (const auto sign : kSigns) {
    if (message.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace packhorse::trainer

#include "torch.h"

#include "checkpoint/weight_files.h"

namespace packhorse::trainer {

// Replaces the definition in weights.cc, which would bring the networks with it.
void throw_bad_weights(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::kCorrupt, why, path);
}

}  // namespace packhorse::trainer

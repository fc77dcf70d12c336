#include "formats/wds/output.h"

namespace packhorse::wds {

Output::Output(const std::filesystem::path& path, int zstd_level) : file_(path) {
  if (zstd_level != 0) compressor_.emplace(zstd_level);
}

void Output::write(Bytes blocks) {
  if (compressor_) {
    pending_.insert(pending_.end(), blocks.begin(), blocks.end());
  } else {
    file_.write(blocks);
  }
}

std::optional<Frame> Output::end_frame() {
  if (!compressor_) return std::nullopt;
  const Bytes stored = compressor_->compress(pending_);
  const Frame frame{{file_.position(), stored.size()}, {content_begin_, pending_.size()}};
  file_.write(stored);
  content_begin_ += pending_.size();
  pending_.clear();
  return frame;
}

}  // namespace packhorse::wds

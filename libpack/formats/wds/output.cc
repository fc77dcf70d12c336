#include "formats/wds/output.h"

#include <tbb/parallel_for.h>

#include "base/zstd_frame.h"
#include "packhorse/base/error.h"

namespace packhorse::wds {

Output::Output(const std::filesystem::path& path, int zstd_level, std::size_t frames)
    : file_(path), zstd_level_(zstd_level) {
  if (zstd_level == 0) return;
  check_zstd_level(zstd_level);
  frames_.reserve(frames);
}

void Output::write(Bytes blocks) {
  if (zstd_level_ != 0) {
    waiting_.insert(waiting_.end(), blocks.begin(), blocks.end());
  } else {
    file_.write(blocks);
  }
}

void Output::end_frame() {
  if (zstd_level_ == 0) return;
  frames_.push_back({{}, {frame_begin_, position() - frame_begin_}});
  frame_begin_ = position();
  if (waiting_.size() >= kWaiting) compress_waiting();
}

void Output::compress_waiting() {
  const std::span<Frame> frames = std::span(frames_).subspan(written_);
  std::size_t room = 0;
  for (Frame& frame : frames) {
    frame.stored = {room, 0};
    room += frame_bound(frame.content.length);
  }
  if (stored_.size() < room) stored_.resize(room);
  const Bytes contents = waiting_;
  const std::span<std::byte> stored = stored_;
  tbb::parallel_for(std::size_t{0}, frames.size(), [&](std::size_t i) {
    Frame& frame = frames[i];
    const std::size_t begin = frame.content.offset - content_begin_;
    frame.stored.length =
        compress_frame(zstd_level_, contents.subspan(begin, frame.content.length),
                       stored.subspan(frame.stored.offset, frame_bound(frame.content.length)));
  });
  for (Frame& frame : frames) {
    // TBB leaves out the rest when the group of tasks that the caller belongs to is cancelled.
    if (frame.stored.length == 0) throw Error(ErrorKind::kInterrupted, "compressing was cancelled");
    const Bytes made = stored.subspan(frame.stored.offset, frame.stored.length);
    frame.stored.offset = file_.position();
    file_.write(made);
  }
  written_ = frames_.size();
  content_begin_ += waiting_.size();
  waiting_.clear();
}

std::string Output::commit() {
  if (!waiting_.empty()) compress_waiting();
  return file_.commit();
}

}  // namespace packhorse::wds

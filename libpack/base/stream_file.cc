#include "base/stream_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace packhorse {

StreamFile::StreamFile(std::filesystem::path path, Front front) : file_(std::move(path)) {
  buffer_ = pool_.take();
  if (front == Front::kFinal) {
    direct_ = open_file(file_.name(), O_WRONLY | O_DIRECT);
    hasher_.emplace([this](const ByteThread::Piece& piece) { hash_.update(piece.bytes()); });
  }
  writer_.emplace([this](const ByteThread::Piece& piece) { write_piece(piece); });
}

void StreamFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), AlignedBuffer::kBytes - filled_);
    std::memcpy(buffer_->data() + filled_, bytes.data(), n);
    filled_ += n;
    bytes = bytes.subspan(n);
    if (filled_ == AlignedBuffer::kBytes) hand_on();
  }
}

void StreamFile::hand_on() {
  const ByteThread::Piece piece{std::move(buffer_), filled_, offset_};
  writer_->push(piece);
  if (hasher_) hasher_->push(piece);
  offset_ += filled_;
  filled_ = 0;
  buffer_ = pool_.take();
}

/// Writes a whole piece past the page cache as far as the file system allows, and the rest the
/// usual way.
void StreamFile::write_piece(const ByteThread::Piece& piece) {
  std::size_t written = 0;
  if (direct_ && piece.size == AlignedBuffer::kBytes) {
    const ssize_t n =
        ::pwrite(direct_.get(), piece.buffer->data(), piece.size, static_cast<off_t>(piece.offset));
    if (n > 0) {
      written = static_cast<std::size_t>(n) / AlignedBuffer::kAlignment * AlignedBuffer::kAlignment;
    } else {
      direct_.reset();
    }
  }
  if (written == piece.size) return;
  write_exactly(file_.fd(), piece.offset + written, piece.bytes().subspan(written), file_.path());
  start_write_back(file_.fd(), piece.offset + written, piece.offset + piece.size);
}

void StreamFile::replace(std::uint64_t offset, std::string bytes) {
  replacements_.push_back({offset, std::move(bytes)});
}

std::string StreamFile::commit() {
  if (filled_ > 0) hand_on();
  writer_->finish();
  for (const Replacement& other : replacements_)
    write_exactly(file_.fd(), other.offset, as_bytes(other.bytes), file_.path());
  std::string sum;
  if (hasher_ && replacements_.empty()) {
    file_.publish();
    hasher_->finish();
    sum = hash_.finish();
  } else {
    sum = file_.publish_hashed();
  }
  return sum;
}

}  // namespace packhorse

#include "watch/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <climits>
#include <string>

#include "base/file.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

// Field numbers in event.proto and summary.proto.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;  // Event
constexpr int kValue = 1;                                                                 // Summary
constexpr int kTag = 1, kSimpleValue = 2;  // Summary.Value
constexpr int kStatus = 1;                 // SessionLog
constexpr std::uint64_t kStart = 1;        // SessionLog.SessionStatus

enum Wire : int { kVarint = 0, k64Bits = 1, kBytes = 2, k32Bits = 5 };

template <class Int>
std::string little_endian(Int value) {
  std::string bytes(sizeof value, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value = static_cast<Int>(value >> 8);
  }
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field << 3 | wire));
}

std::string bytes_field(int field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}

/// CRCs of data that holds CRCs are weak, so they are rotated and shifted by a constant.
std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// TensorBoard reads a directory's files in the order of their names, which begin with a second in
/// Unix time.
std::int64_t second_behind_those_in(const std::filesystem::path& directory) {
  using std::chrono::system_clock;
  std::int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
          .count();
  for (const std::filesystem::directory_entry& entry : entries_in(directory)) {
    const std::string name = entry.path().filename().string();
    std::int64_t other = 0;
    if (!name.starts_with(kPrefix)) continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other);
    second = std::max(second, other + 1);
  }
  return second;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
      table.at(i) = crc;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable.at((crc ^ static_cast<unsigned char>(byte)) & 0xff);
  }
  return crc ^ 0xffffffff;
}

EventFile::EventFile(const std::filesystem::path& directory, std::int64_t first_step) {
  make_directories(directory);
  path_ = directory / fmt::format("{}{}.{}.{}", kPrefix, second_behind_those_in(directory),
                                  host_name(), ::getpid());
  file_ = open_file(path_, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file_) throw_errno("create", path_);
  event(0, bytes_field(kFileVersion, "brain.Event:2"));
  event(first_step, bytes_field(kSessionLog, key(kStatus, kVarint) + varint(kStart)));
  flush();
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::string entry =
      bytes_field(kTag, tag) + key(kSimpleValue, k32Bits) + little_endian(bits);
  event(step, bytes_field(kSummary, bytes_field(kValue, entry)));
}

void EventFile::event(std::int64_t step, std::string_view what) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string event = key(kWallTime, k64Bits) +
                            little_endian(std::bit_cast<std::uint64_t>(now)) + key(kStep, kVarint) +
                            varint(static_cast<std::uint64_t>(step)) + std::string(what);
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  waiting_ += length + little_endian(masked_crc(length)) + event + little_endian(masked_crc(event));
}

void EventFile::flush() {
  append_exactly(file_.get(), as_bytes(waiting_), path_);
  waiting_.clear();
}

}  // namespace packhorse::trainer

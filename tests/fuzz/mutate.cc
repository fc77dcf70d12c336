#include "mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace packhorse::fuzz {

namespace {

class Mutation {
 public:
  Mutation(File& file, std::span<const File> others, std::mt19937_64& random)
      : file_(file), others_(others), random_(random) {}

  void run() {
    switch (draw(17)) {
      case 0:
      case 1:
        return flip(anywhere());
      case 2:
      case 3:
        return put(anywhere(), byte());
      case 4:
        return put(anywhere(), interesting());
      case 5:
        return flip(in_scan());
      case 6:
        return put(in_scan(), byte());
      case 7:
        return put(in_scan(), interesting());
      case 8:
        return in_segment(kMarkers[draw(kMarkers.size())]);
      case 9:
        return quantise();
      case 10:
        return erase();
      case 11:
        return repeat();
      case 12:
        return splice();
      case 13:
        return marker();
      case 14:
        return insert();
      case 15:
        return starve();
      default:
        return truncate();
    }
  }

 private:
  static constexpr std::array<std::uint8_t, 7> kMarkers = {0xc0, 0xc4, 0xc4, 0xdb,
                                                           0xda, 0xdd, 0xe9};

  std::size_t draw(std::size_t below) { return below == 0 ? 0 : random_() % below; }
  std::byte byte() { return static_cast<std::byte>(random_()); }
  std::byte interesting() {
    static constexpr std::array<std::uint8_t, 12> kBytes = {0xff, 0x00, 0xd0, 0xd1, 0xd7, 0xd9,
                                                            0x01, 0x11, 0x22, 0x7f, 0x80, 0xf0};
    return static_cast<std::byte>(kBytes[draw(kBytes.size())]);
  }
  std::size_t anywhere() { return draw(file_.size()); }
  /// An offset after the start of scan, if there is one.
  std::size_t in_scan() {
    const std::size_t scan = find(0xda);
    return scan + draw(file_.size() - scan);
  }
  /// The offset of the marker, or 0 where there is none; a random one of several.
  std::size_t find(std::uint8_t marker) {
    std::size_t found = 0, seen = 0;
    for (std::size_t i = 2; i + 1 < file_.size(); ++i) {
      if (file_[i] == std::byte{0xff} && file_[i + 1] == std::byte{marker} && draw(++seen) == 0) {
        found = i;
      }
    }
    return found;
  }
  auto at(std::size_t i) {
    return file_.begin() + static_cast<std::ptrdiff_t>(std::min(i, file_.size()));
  }

  void put(std::size_t i, std::byte value) {
    if (i < file_.size()) file_[i] = value;
  }
  void flip(std::size_t i) {
    if (i < file_.size()) file_[i] ^= static_cast<std::byte>(1u << draw(8));
  }
  void in_segment(std::uint8_t marker) {
    const std::size_t begin = find(marker);
    const std::size_t i = begin + draw(marker == 0xc4 ? 60 : 24);
    put(i, draw(2) == 0 ? byte() : interesting());
  }
  /// Sets large quantisation steps, so that coefficients overflow.
  void quantise() {
    const std::size_t begin = find(0xdb) + 5;
    const std::byte all = byte();
    const bool same = draw(2) == 0;
    for (std::size_t i = draw(64); i < 64; ++i) put(begin + i, same ? all : byte());
  }
  void erase() {
    const std::size_t i = anywhere();
    file_.erase(at(i), at(i + 1 + draw(draw(8) == 0 ? 400 : 8)));
  }
  void insert() {
    const std::size_t count = 1 + draw(6);
    const std::size_t i = draw(2) == 0 ? anywhere() : in_scan();
    for (std::size_t k = 0; k < count; ++k)
      file_.insert(at(i), draw(2) == 0 ? byte() : interesting());
  }
  void repeat() {
    const std::size_t i = anywhere();
    const File part(at(i), at(i + 1 + draw(64)));
    file_.insert(at(anywhere()), part.begin(), part.end());
  }
  void splice() {
    const File& other = others_[draw(others_.size())];
    if (other.empty()) return;
    const std::size_t from = draw(other.size()),
                      length = std::min(other.size() - from, 1 + draw(200));
    const std::size_t to = anywhere();
    for (std::size_t k = 0; k < length; ++k) put(to + k, other[from + k]);
  }
  void marker() {
    const std::size_t i = in_scan();
    put(i, std::byte{0xff});
    put(i + 1, static_cast<std::byte>(0xd0 + draw(10)));
  }
  /// Removes any part of the scan, and leaves its end as it is.
  void starve() {
    const std::size_t from = in_scan();
    if (from + 2 < file_.size()) file_.erase(at(from), at(from + draw(file_.size() - 2 - from)));
  }
  void truncate() {
    if (draw(4) == 0) file_.erase(at(in_scan()), file_.end());
  }

  File& file_;
  std::span<const File> others_;
  std::mt19937_64& random_;
};

}  // namespace

void mutate(File& file, std::span<const File> others, std::size_t max_bytes,
            std::mt19937_64& random) {
  for (std::uint64_t rounds = 1 + random() % 4; rounds > 0; --rounds) {
    if (file.size() < 4) return;
    Mutation(file, others, random).run();
  }
  if (file.size() > max_bytes) file.resize(max_bytes);
}

}  // namespace packhorse::fuzz

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace packhorse::test {

/// A handmade ustar header, which can say anything.
inline std::string tar_header(const std::string& name, std::uint64_t bytes, char type = '0',
                              const std::string& link = "") {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", bytes));
  put(136, "00000000000");
  put(148, "        ");
  put(156, std::string(1, type));
  put(157, link);
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

/// One member, padded.
inline std::string tar_member(const std::string& name, const std::string& data, char type = '0',
                              const std::string& link = "") {
  return tar_header(name, data.size(), type, link) + data +
         std::string((512 - data.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

/// Writes a tar of an image and of members of zeros beside it, which take no room on a disk that
/// has files with holes.
inline void put_tar_with_holes(const std::filesystem::path& path,
                               const std::vector<std::pair<std::string, std::string>>& members,
                               const std::vector<std::pair<std::string, std::uint64_t>>& holes) {
  std::ofstream tar(path, std::ios::binary);
  for (const auto& [name, data] : members) tar << tar_member(name, data);
  for (const auto& [name, bytes] : holes) {
    tar << tar_header(name, bytes);
    tar.seekp(static_cast<std::streamoff>((bytes + 511) / 512 * 512), std::ios::cur);
  }
  tar << tar_end();
}

inline std::string tar_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string tar;
  for (const auto& [name, data] : members) tar += tar_member(name, data);
  return tar + tar_end();
}

}  // namespace packhorse::test

#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace packhorse::test {

/// One tar member, padded, with a handmade ustar header, so that the header can say anything.
inline std::string tar_member(const std::string& name, const std::string& data, char type = '0',
                              const std::string& link = "") {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", data.size()));
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
  return header + data + std::string((512 - data.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

inline std::string tar_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string tar;
  for (const auto& [name, data] : members) tar += tar_member(name, data);
  return tar + tar_end();
}

}  // namespace packhorse::test

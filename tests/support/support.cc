#include "support.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace packhorse::test {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory(const fs::path& parent) {
  std::string name = (parent / "packhorse-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path samples() { return PACKHORSE_SAMPLES; }

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string tiny_image(int number, std::size_t bytes) {
  std::string file = "P5\n1 1\n255\n";
  file += static_cast<char>(number & 0xff);
  file += "number " + std::to_string(number);
  if (file.size() < bytes) file.resize(bytes, static_cast<char>('a' + number % 26));
  return file;
}

void make_folder(const fs::path& root, int classes, int images) {
  for (int c = 0; c < classes; ++c) {
    for (int i = 0; i < images; ++i) {
      const std::string name = std::to_string(10000 + i).substr(1) + ".pgm";
      put(root / ("c" + std::to_string(c)) / name,
          tiny_image(c * images + i, static_cast<std::size_t>(20 + i * 7 % 90)));
    }
  }
}

void flip_byte(const fs::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  REQUIRE(file.good());
}

void skipped(std::string_view reason) {
  MESSAGE("skipped: " << reason);
  const char* const path = std::getenv("PACKHORSE_SKIPS");
  if (path == nullptr) return;
  const nlohmann::json note{{"test", doctest::getContextOptions()->currentTest->m_name},
                            {"reason", reason}};
  std::ofstream(path, std::ios::app) << note.dump() + "\n";
}

std::string as_later_version(std::string_view manifest) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(manifest);
  const auto version = json["packhorse"];
  json.erase("packhorse");
  json.erase("id");
  json["manifest_version"] = 2;
  json["news"] = "something";
  const std::string id = sha256(as_bytes(json.dump()));
  json["packhorse"] = version;
  json["id"] = id;
  return json.dump(1) + "\n";
}

void truncate(const fs::path& path, std::uint64_t size) { fs::resize_file(path, size); }

std::string tree(const fs::path& root) {
  std::vector<std::string> lines;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    lines.push_back(fs::relative(entry.path(), root).string() + " " + sha256_file(entry.path()) +
                    "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace packhorse::test

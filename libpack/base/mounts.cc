#include "base/mounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// A mounted file system.
struct Mount {
  std::string place, type;
  std::vector<std::string> options;  ///< those that the file system itself understands
};

/// mountinfo writes blanks, newlines and backslashes as \ and three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] == '\\' && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      plain += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// "36 35 98:0 /root /place rw,noatime shared:1 - type source rw,option=value"
std::optional<Mount> parse(const std::string& line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
  std::string skipped, place, options;
  Mount mount;
  if (!(before >> skipped >> skipped >> skipped >> skipped >> place)) return std::nullopt;
  if (!(after >> mount.type >> skipped >> options)) return std::nullopt;
  mount.place = unescaped(place);
  std::istringstream all(options);
  for (std::string option; std::getline(all, option, ',');) mount.options.push_back(option);
  return mount;
}

bool holds(const Mount& mount, const fs::path& path) {
  if (mount.place == "/") return true;
  const std::string& text = path.native();
  return text.starts_with(mount.place) &&
         (text.size() == mount.place.size() || text[mount.place.size()] == '/');
}

/// Mount options that keep flock() to the machine: nfs(5), mount.lustre(8), mount.cifs(8).
struct LocalOption {
  std::string_view type, option;
};
constexpr std::array<LocalOption, 7> kLocal = {{{"nfs", "local_lock=all"},
                                                {"nfs", "local_lock=flock"},
                                                {"nfs", "nolock"},
                                                {"nfs4", "local_lock=all"},
                                                {"nfs4", "local_lock=flock"},
                                                {"lustre", "localflock"},
                                                {"cifs", "nobrl"}}};
/// File systems on other machines that never ask them about locks.
constexpr std::array<std::string_view, 2> kAlwaysLocal = {"fuse.sshfs", "fuse.rclone"};

}  // namespace

std::optional<std::string> local_locks(std::string_view mountinfo, const fs::path& path) {
  std::istringstream lines{std::string(mountinfo)};
  std::optional<Mount> found;
  for (std::string line; std::getline(lines, line);) {
    std::optional<Mount> mount = parse(line);
    if (!mount || !holds(*mount, path)) continue;
    // Of several at one place, the last one hides the others.
    if (!found || mount->place.size() >= found->place.size()) found = std::move(mount);
  }
  if (!found) return std::nullopt;
  for (const auto& [type, option] : kLocal) {
    if (found->type == type && std::ranges::find(found->options, option) != found->options.end())
      return fmt::format("{} with the mount option {}", type, option);
  }
  if (std::ranges::find(kAlwaysLocal, found->type) != kAlwaysLocal.end()) return found->type;
  return std::nullopt;
}

std::optional<std::string> local_locks(const fs::path& path) {
  std::error_code code;
  const fs::path real = fs::weakly_canonical(path, code);
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return local_locks(text, code ? fs::absolute(path) : real);
}

}  // namespace packhorse

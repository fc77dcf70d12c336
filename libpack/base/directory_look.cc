#include "base/directory_look.h"

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

void look_in(const fs::path& folder, const std::function<bool(const fs::directory_entry&)>& look) {
  while (true) {
    std::error_code code;
    for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
      if (!look(*it)) return;
    if (!code) return;
    if (code != std::errc::interrupted) throw_code(code, "list", folder);
  }
}

}  // namespace packhorse

#include "commands.h"
#include "packhorse/base/error.h"

// Built without PACKHORSE_STORAGE.
namespace packhorse {

namespace {

class CommandNoCache final : public program::Command {
 public:
  void setup(CLI::App& app) override { app.allow_extras(); }
  int run(const std::stop_token&) override {
    throw Error(ErrorKind::kUnsupported, "this packhorse was built without storage at URLs", {},
                "use one that was built with PACKHORSE_STORAGE, as the packages are");
  }
};

}  // namespace

std::unique_ptr<program::Command> make_cache_command() {
  return std::make_unique<CommandNoCache>();
}

}  // namespace packhorse

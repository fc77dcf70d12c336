#include <array>

#include "packhorse/base/version.h"
#include "probe.h"

namespace {

using packhorse::program::CommandKind;

constexpr std::array kCommands = {
    CommandKind{"make", "A dataset with as many samples and shards as one likes",
                packhorse::bench::make_made},
    CommandKind{"read", "What opening and reading a dataset costs", packhorse::bench::make_reading},
};

}  // namespace

int main(int argc, char** argv) {
  return packhorse::program::run_program({.name = "scale_probe",
                                          .summary = "Datasets of very many samples",
                                          .commands = kCommands,
                                          .version_text = packhorse::version},
                                         argc, argv);
}

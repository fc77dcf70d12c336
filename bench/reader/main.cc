#include <array>

#include "loops.h"
#include "packhorse/version.h"

namespace {

using packhorse::program::CommandKind;

constexpr std::array kCommands = {
    CommandKind{"copy", "The ranges of a dataset, out of mapped shards",
                packhorse::bench::make_copy_loop},
    CommandKind{"pixels", "The reader's own reading and decoding, without a Loader",
                packhorse::bench::make_pixels_loop},
    CommandKind{"draws", "What weights, repeats and mixtures cost, beside a plain order",
                packhorse::bench::make_draw_loop},
    CommandKind{"open", "What opening a dataset and reading it costs", packhorse::bench::make_open},
};

}  // namespace

int main(int argc, char** argv) {
  return packhorse::program::run_program({.name = "reader_loops",
                                          .summary = "Bare loops beside the reader",
                                          .commands = kCommands,
                                          .version_text = packhorse::version},
                                         argc, argv);
}

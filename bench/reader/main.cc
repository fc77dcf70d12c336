#include <array>

#include "loops.h"
#include "packhorse/base/version.h"

namespace {

using packhorse::program::CommandKind;

constexpr std::array kCommands = {
    CommandKind{"decode", "Whole JPEGs to RGB, from memory", packhorse::bench::make_decode_loop},
    CommandKind{"copy", "The ranges of a dataset, out of mapped shards",
                packhorse::bench::make_copy_loop},
    CommandKind{"pixels", "The reader's own reading and decoding, without a Loader",
                packhorse::bench::make_pixels_loop},
    CommandKind{"start", "Time to the first batch, and memory a sample",
                packhorse::bench::make_start},
    CommandKind{"fetch", "Cold shards from end to end, in one of several ways",
                packhorse::bench::make_fetch},
};

}  // namespace

int main(int argc, char** argv) {
  return packhorse::program::run_program({.name = "reader_loops",
                                          .summary = "Bare loops to hold the reader against",
                                          .commands = kCommands,
                                          .version_text = packhorse::version},
                                         argc, argv);
}

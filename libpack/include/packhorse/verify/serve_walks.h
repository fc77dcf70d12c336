#pragma once

#include "packhorse/walkers/walkers.h"

namespace packhorse {

/// Whether this program was started to do walks.
inline bool is_walk_call(int argc, const char* const* argv) {
  return argc == 2 && argv[1] == kWalkArgument;
}

/// Takes tasks from standard input and answers on standard output until the input ends. Each task
/// runs in a child of its own, made by fork(2) and bounded by setrlimit(2), so that a crash ends
/// nothing else. The process must have one thread. Returns the exit code.
int serve_walks();

}  // namespace packhorse

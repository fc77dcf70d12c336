#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

/// Other programs, started from processes that have threads, block signals and ignore some.
namespace packhorse {

/// Makes a write that cannot be done fail, instead of ending the process by a signal: to a pipe
/// that nobody reads (SIGPIPE), and beyond the limit on file sizes (SIGXFSZ). For programs, at
/// their start; processes made by start_process() have these signals as usual.
void ignore_write_signals();

/// What a process gets for its standard streams: open file descriptors of ours, or where there is
/// none (-1) our own streams.
struct ProcessStreams {
  int in = -1;
  int out = -1;
  bool quiet = false;  ///< its stderr goes nowhere
};

/// kOwn: a process group of its own, so that a Ctrl-C meant for us does not reach it.
enum class ProcessGroup { kOurs, kOwn };

/// Starts the program at the path `command.front()`. It blocks no signals, and inherits no files
/// but its standard streams, whatever flags those were opened with. Returns its id, for
/// wait_for_process(). Any thread. Throws Error(kIo) naming the program.
pid_t start_process(const std::vector<std::string>& command, const ProcessStreams& streams,
                    ProcessGroup group);

/// Waits for its end, and returns its status as waitpid(2) does. Throws Error(kIo).
int wait_for_process(pid_t process);

}  // namespace packhorse

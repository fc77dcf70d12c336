#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

/// Starts other programs from processes that have threads and that block or ignore signals.
namespace packhorse {

/// The name of this machine, from gethostname(2).
std::string host_name();

/// Makes writes that cannot be done fail, instead of ending the process by a signal: writes to a
/// pipe that nobody reads (SIGPIPE), or beyond the limit on file sizes (SIGXFSZ). A program calls
/// this at its start. Processes made by start_process() handle these signals as usual.
void ignore_write_signals();

/// A new process's standard streams: open file descriptors of this process, or -1 to inherit its
/// streams.
struct ProcessStreams {
  int in = -1;
  int out = -1;
  bool quiet = false;  ///< its stderr goes nowhere
};

/// kOwn: a process group of its own, so that a Ctrl-C for this process does not reach it.
enum class ProcessGroup { kOurs, kOwn };

/// Starts the program at the path `command.front()`. It blocks no signals, and inherits only its
/// standard streams, whatever flags other files were opened with. Returns its id, for
/// wait_for_process(). Any thread. Throws Error(kIo) naming the program.
pid_t start_process(const std::vector<std::string>& command, const ProcessStreams& streams,
                    ProcessGroup group);

/// Waits until the process ends, and returns its status as waitpid(2) does. Throws Error(kIo).
int wait_for_process(pid_t process);

}  // namespace packhorse

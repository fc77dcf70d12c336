#include "base/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "packhorse/base/error.h"

// glibc has it since 2.34; wheels also run with older ones.
#pragma weak posix_spawn_file_actions_addclosefrom_np

namespace packhorse {

namespace {

constexpr std::array kIgnored = {SIGPIPE, SIGXFSZ};

struct SpawnAttributes {
  posix_spawnattr_t value{};
  explicit SpawnAttributes(ProcessGroup group) {
    ::posix_spawnattr_init(&value);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int number : kIgnored) sigaddset(&usual, number);
    ::posix_spawnattr_setsigmask(&value, &none);
    ::posix_spawnattr_setsigdefault(&value, &usual);
    ::posix_spawnattr_setpgroup(&value, 0);
    const int own_group = group == ProcessGroup::kOwn ? POSIX_SPAWN_SETPGROUP : 0;
    ::posix_spawnattr_setflags(
        &value, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | own_group));
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

struct SpawnActions {
  posix_spawn_file_actions_t value{};
  explicit SpawnActions(const ProcessStreams& streams) {
    ::posix_spawn_file_actions_init(&value);
    if (streams.in >= 0) ::posix_spawn_file_actions_adddup2(&value, streams.in, STDIN_FILENO);
    if (streams.out >= 0) ::posix_spawn_file_actions_adddup2(&value, streams.out, STDOUT_FILENO);
    if (streams.quiet)
      ::posix_spawn_file_actions_addopen(&value, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    close_others();
  }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

 private:
  void close_others() {
    if (::posix_spawn_file_actions_addclosefrom_np != nullptr) {
      ::posix_spawn_file_actions_addclosefrom_np(&value, STDERR_FILENO + 1);
      return;
    }
    // Closes those that are open now. If another thread closes one of them first, nothing fails.
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int open = std::stoi(entry.path().filename());
      if (open > STDERR_FILENO) ::posix_spawn_file_actions_addclose(&value, open);
    }
  }
};

}  // namespace

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

void ignore_write_signals() {
  for (const int number : kIgnored) std::signal(number, SIG_IGN);
}

pid_t start_process(const std::vector<std::string>& command, const ProcessStreams& streams,
                    ProcessGroup group) {
  const SpawnActions actions(streams);
  const SpawnAttributes attributes(group);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int code = ::posix_spawn(&process, arguments.front(), &actions.value, &attributes.value,
                                 arguments.data(), environ);
  if (code == 0) return process;
  errno = code;
  throw_errno("start the program", command.front());
}

int wait_for_process(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw_errno("wait for", "process " + std::to_string(process));
  }
  return status;
}

}  // namespace packhorse

#include "base/process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <csignal>

#include "base/file.h"
#include "support/support.h"

namespace packhorse {

namespace {

int status_of(const std::string& text) {
  return wait_for_process(start_process({"/bin/sh", "-c", text}, {}, ProcessGroup::kOurs));
}

}  // namespace

TEST_CASE("process: signals that we ignore end it as usual") {
  ignore_write_signals();
  for (const std::string name : {"PIPE", "XFSZ"}) {
    CAPTURE(name);
    CHECK(WIFSIGNALED(status_of("kill -" + name + " $$")));
  }
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
}

TEST_CASE("process: signals that we block reach it") {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const int status = status_of("kill -TERM $$");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("process: our files are not open in it, whatever their flags") {
  const test::TemporaryDirectory directory;
  test::put(directory / "a", "x");
  const UniqueFd open(::open((directory / "a").c_str(), O_RDONLY));
  const int status = status_of("test -e /proc/self/fd/" + std::to_string(open.get()));
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("process: a program that is not there is named") {
  CHECK(test::kind_of_error([] { start_process({"/nowhere/at-all"}, {}, ProcessGroup::kOwn); }) ==
        ErrorKind::kNotFound);
}

}  // namespace packhorse

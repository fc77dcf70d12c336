#include "storage/cache/claims.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "packhorse/base/error.h"
#include "storage/cache/beneath.h"
#include "storage/cache/byte_locks.h"
#include "storage/cache/runs_header.h"

namespace packhorse {

Claims::Claims(UniqueFd fd, std::filesystem::path path)
    : path_(std::move(path)), current_(new OfProcess{::getpid(), std::move(fd)}) {}

Claims::~Claims() {
  OfProcess* const last = current_;
  if (last->process != ::getpid()) {
    last->fd.reset();  // its claims are the parent's, and are not to be unlocked
    return;            // and its condition variable may have waiters that are not in this process
  }
  // Explicitly, because a child may share the description and keep it open.
  for (const std::size_t run : last->taken) unlock(last->fd.get(), byte_of_run(run));
  for (OfProcess* one = last->before; one != nullptr; one = one->before) one->fd.reset();
  delete last;
}

Claims::OfProcess& Claims::of_process() {
  OfProcess* now = current_;
  if (now->process != ::getpid()) now = of_child(now);
  return *now;
}

Claims::OfProcess* Claims::of_child(OfProcess* parent) {
  auto own = std::make_unique<OfProcess>();
  own->process = ::getpid();
  own->before = parent;
  own->fd = open_again(parent->fd.get(), O_RDWR, path_);
  wait_lock(own->fd.get(), kLease, LockKind::kShared, path_);
  OfProcess* expected = parent;
  if (!current_.compare_exchange_strong(expected, own.get())) return expected;
  return own.release();
}

bool Claims::try_take(std::size_t run) {
  OfProcess& own = of_process();
  const std::scoped_lock lock(own.mutex);
  if (own.taken.contains(run)) return false;
  if (!try_lock(own.fd.get(), byte_of_run(run), LockKind::kAlone, path_)) return false;
  own.taken.insert(run);
  return true;
}

void Claims::end(std::size_t run) {
  OfProcess& own = of_process();
  {
    const std::scoped_lock lock(own.mutex);
    if (own.taken.erase(run) == 0) return;
    unlock(own.fd.get(), byte_of_run(run));
  }
  own.ended.notify_all();
}

bool Claims::is_ours(std::size_t run) {
  OfProcess& own = of_process();
  const std::scoped_lock lock(own.mutex);
  return own.taken.contains(run);
}

bool Claims::is_taken(std::size_t run) {
  OfProcess& own = of_process();
  const std::scoped_lock lock(own.mutex);
  return own.taken.contains(run) || !locks_of_others(own.fd.get(), byte_of_run(run), path_).empty();
}

void Claims::wait(std::size_t run, std::chrono::milliseconds most) {
  OfProcess& own = of_process();
  std::unique_lock lock(own.mutex);
  const bool was_ours = own.taken.contains(run);
  own.ended.wait_for(lock, most, [&] { return was_ours && !own.taken.contains(run); });
}

std::set<std::size_t> Claims::ours() {
  OfProcess& own = of_process();
  const std::scoped_lock lock(own.mutex);
  return own.taken;
}

}  // namespace packhorse

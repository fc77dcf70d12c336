#include "storage/http/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/stop.h"
#include "packhorse/base/error.h"
#include "storage/http/answers.h"
#include "storage/http/curl_loop.h"
#include "storage/http/request_cap.h"
#include "storage/http/transfer.h"

namespace packhorse {

namespace {

using SteadyClock = std::chrono::steady_clock;

std::exception_ptr interrupted() {
  return std::make_exception_ptr(
      Error(ErrorKind::kInterrupted, "the request was given up, as nobody wants it any more"));
}

/// The same error, which also says how often the request was sent.
std::exception_ptr after_tries(const std::exception_ptr& error, int tries) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return std::make_exception_ptr(Error(e.kind(),
                                         e.what() + (", after " + std::to_string(tries)) + " tries",
                                         e.path(), e.advice(), e.key()));
  } catch (...) {
    return error;
  }
}

bool says_too_many(int status) { return status == 429 || status == 503; }

}  // namespace

std::optional<std::string_view> HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

/// A queue of requests that wait, a thread that makes and sends them as there is room, and the
/// loop that carries them out. What comes back is finished, or waits again.
class HttpClient::Reactor {
 public:
  explicit Reactor(const StorageOptions& options)
      : options_(options), cap_(options.most_requests) {}
  ~Reactor();

  void start(Make make, Accept accept, Done done, const void* owner);
  void give_up(const void* owner);
  StorageCounters counters(const void* owner) const;
  bool is_own_thread() const;
  /// Its threads run in another process: this one was made by fork().
  bool is_elsewhere() const { return pid_ != 0 && pid_ != ::getpid(); }

 private:
  struct Task {
    Make make;
    Accept accept;
    Done done;
    const void* owner = nullptr;
    std::stop_token stop = {};  ///< of the thread that started it
    int tries = 0;
    SteadyClock::time_point first_sent{};
    bool leaving = false;  ///< under the mutex
    /// Gives it up when the stop is requested. Last: what it does needs all of the above.
    std::optional<std::stop_callback<std::function<void()>>> on_stop = {};
  };
  using TaskPtr = std::shared_ptr<Task>;
  struct Owner {
    std::size_t tasks = 0;
    int waiting = 0;  ///< calls of give_up()
    bool leaving = false;
    StorageCounters counters = {};
  };
  struct Verdict {
    std::exception_ptr error;
    bool repeat = false;
  };

  void start_threads();
  void give_up_task(const TaskPtr& task);
  bool is_unwanted(const Task& task);
  void dispatch();
  TaskPtr next_task();
  void wait_for_task(std::unique_lock<std::mutex>& lock);
  void send(TaskPtr task);
  void take(const TaskPtr& task, const Transfer& transfer, HttpOutcome outcome);
  static Verdict judge(const Task& task, const Transfer& transfer, const HttpOutcome& outcome);
  void learn(const TaskPtr& task, const Transfer& transfer, const HttpOutcome& outcome);
  bool try_again(const TaskPtr& task, const HttpOutcome& outcome);
  void finish(const TaskPtr& task, HttpOutcome outcome);
  template <class Change>
  void count(const void* owner, const Change& change);

  const StorageOptions options_;
  std::atomic<pid_t> pid_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< for the dispatcher
  std::condition_variable left_;     ///< for give_up()
  std::deque<TaskPtr> ready_;
  std::multimap<SteadyClock::time_point, TaskPtr> later_;
  std::map<const void*, Owner> owners_;
  StorageCounters total_;
  RequestCap cap_;
  int under_way_ = 0;
  bool reached_ = false;  ///< some answer has come
  bool stopping_ = false;
  std::minstd_rand random_{std::random_device{}()};
  std::unique_ptr<CurlLoop> loop_;
  std::thread dispatcher_;
};

HttpClient::Reactor::~Reactor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (dispatcher_.joinable()) dispatcher_.join();
  loop_.reset();
  for (const TaskPtr& task : ready_) finish(task, {{}, interrupted()});
  for (const auto& [time, task] : later_) finish(task, {{}, interrupted()});
}

void HttpClient::Reactor::start_threads() {
  if (loop_) return;
  auto loop = std::make_unique<CurlLoop>(options_);
  dispatcher_ = std::thread([this] { dispatch(); });
  loop_ = std::move(loop);
  pid_ = ::getpid();
}

void HttpClient::Reactor::start(Make make, Accept accept, Done done, const void* owner) {
  const auto task = std::make_shared<Task>();
  task->make = std::move(make);
  task->accept = std::move(accept);
  task->done = std::move(done);
  task->owner = owner;
  task->stop = current_stop();
  // Set before another thread may end it. Early, it finds nothing in the queue, and marks the task.
  if (task->stop.stop_possible()) {
    task->on_stop.emplace(task->stop, [this, weak = std::weak_ptr<Task>(task)] {
      if (const TaskPtr held = weak.lock()) give_up_task(held);
    });
  }
  {
    const std::lock_guard lock(mutex_);
    start_threads();
    ready_.push_back(task);
    ++owners_[owner].tasks;
  }
  changed_.notify_all();
}

void HttpClient::Reactor::give_up_task(const TaskPtr& task) {
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    task->leaving = true;
    waits = std::erase(ready_, task) > 0 ||
            std::erase_if(later_, [&](const auto& entry) { return entry.second == task; }) > 0;
    if (!waits && loop_) loop_->give_up(task.get());
  }
  if (waits) finish(task, {{}, interrupted()});
}

/// Under mutex_.
bool HttpClient::Reactor::is_unwanted(const Task& task) {
  return task.leaving || owners_[task.owner].leaving;
}

void HttpClient::Reactor::give_up(const void* owner) {
  std::vector<TaskPtr> dropped;
  {
    const std::lock_guard lock(mutex_);
    owners_[owner].leaving = true;
    const auto is_owned = [&](const TaskPtr& task) {
      if (task->owner == owner) dropped.push_back(task);
      return task->owner == owner;
    };
    ready_.erase(std::remove_if(ready_.begin(), ready_.end(), is_owned), ready_.end());
    std::erase_if(later_, [&](const auto& entry) { return is_owned(entry.second); });
    if (loop_) loop_->give_up(owner);
  }
  for (const TaskPtr& task : dropped) finish(task, {{}, interrupted()});
  std::unique_lock lock(mutex_);
  if (is_own_thread()) {
    if (owners_[owner].tasks == 0) owners_.erase(owner);
    return;
  }
  ++owners_[owner].waiting;
  left_.wait(lock, [&] { return owners_[owner].tasks == 0; });
  owners_.erase(owner);
}

/// Under mutex_.
bool HttpClient::Reactor::is_own_thread() const {
  const std::thread::id self = std::this_thread::get_id();
  return self == dispatcher_.get_id() || (loop_ && self == loop_->thread_id());
}

StorageCounters HttpClient::Reactor::counters(const void* owner) const {
  const std::lock_guard lock(mutex_);
  if (owner == nullptr) return total_;
  const auto found = owners_.find(owner);
  return found == owners_.end() ? StorageCounters{} : found->second.counters;
}

/// Under mutex_.
template <class Change>
void HttpClient::Reactor::count(const void* owner, const Change& change) {
  change(total_);
  change(owners_[owner].counters);
}

void HttpClient::Reactor::dispatch() {
  block_signals();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    TaskPtr task = next_task();
    if (!task) {
      wait_for_task(lock);
      continue;
    }
    ++under_way_;
    const bool again = task->tries++ > 0;
    if (!again) task->first_sent = SteadyClock::now();
    count(task->owner, [&](StorageCounters& counters) {
      ++counters.requests;
      if (again) ++counters.retries;
    });
    lock.unlock();
    send(std::move(task));  // and is let go before the lock: what it holds may go with it
    lock.lock();
  }
}

/// Takes the task whose turn it is, if there is room. Those that wait to be repeated come first.
/// Under mutex_.
HttpClient::Reactor::TaskPtr HttpClient::Reactor::next_task() {
  if (under_way_ >= cap_.value()) return nullptr;
  TaskPtr task;
  if (!later_.empty() && later_.begin()->first <= SteadyClock::now()) {
    task = std::move(later_.begin()->second);
    later_.erase(later_.begin());
  } else if (!ready_.empty()) {
    task = std::move(ready_.front());
    ready_.pop_front();
  }
  return task;
}

void HttpClient::Reactor::wait_for_task(std::unique_lock<std::mutex>& lock) {
  if (under_way_ < cap_.value() && !later_.empty()) {
    const auto until = later_.begin()->first;
    changed_.wait_until(lock, until);
  } else {
    changed_.wait(lock);
  }
}

void HttpClient::Reactor::send(TaskPtr task) {
  std::unique_ptr<Transfer> transfer;
  std::exception_ptr error;
  try {
    const StopScope scope(task->stop);
    transfer = std::make_unique<Transfer>(task->make(), task->owner, task.get(),
                                          [this, task](const Transfer& ended, HttpOutcome outcome) {
                                            take(task, ended, std::move(outcome));
                                          });
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    if (!error && is_unwanted(*task)) error = interrupted();
    if (!error) return loop_->send(std::move(transfer));
    --under_way_;
  }
  finish(task, {{}, error});
}

/// Judges an answer, or its absence. One whose body was not to be collected is judged by its
/// headers even where the body was wrong, as they say more of the reason.
HttpClient::Reactor::Verdict HttpClient::Reactor::judge(const Task& task, const Transfer& transfer,
                                                        const HttpOutcome& outcome) {
  const int status = outcome.response.status;
  const bool cut = outcome.error && transfer.collects() && status >= 200 && status <= 299;
  if (status != 0 && !cut) {
    Verdict verdict;
    try {
      verdict.error = task.accept(outcome.response, &verdict.repeat);
    } catch (...) {
      verdict.error = std::current_exception();
    }
    if (verdict.error) return verdict;
  }
  return {outcome.error, outcome.may_repeat};
}

/// Ends a try, in the loop's thread.
void HttpClient::Reactor::take(const TaskPtr& task, const Transfer& transfer, HttpOutcome outcome) {
  Verdict verdict = judge(*task, transfer, outcome);
  outcome.error = std::move(verdict.error);
  outcome.may_repeat = verdict.repeat;
  learn(task, transfer, outcome);
  const bool again = outcome.error && verdict.repeat && try_again(task, outcome);
  changed_.notify_all();
  if (again) return;
  if (outcome.error && task->tries > 1) outcome.error = after_tries(outcome.error, task->tries);
  finish(task, std::move(outcome));
}

/// Counts, and tells the cap.
void HttpClient::Reactor::learn(const TaskPtr& task, const Transfer& transfer,
                                const HttpOutcome& outcome) {
  const auto now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  --under_way_;
  reached_ = reached_ || outcome.response.status != 0;
  count(task->owner, [&](StorageCounters& counters) { counters.bytes += transfer.received(); });
  if (says_too_many(outcome.response.status)) {
    cap_.refused(now);
  } else if (!outcome.error) {
    cap_.finished(now, transfer.moved(), now - transfer.began(), !ready_.empty());
  }
}

/// Puts a task off until its next try, if there is to be one.
bool HttpClient::Reactor::try_again(const TaskPtr& task, const HttpOutcome& outcome) {
  const auto now = SteadyClock::now();
  TriesMade made;
  made.tries = task->tries;
  made.since_first = std::chrono::duration_cast<std::chrono::milliseconds>(now - task->first_sent);
  if (const auto value = outcome.response.header("retry-after"))
    made.retry_after = parse_retry_after(*value, std::chrono::system_clock::now());
  const std::lock_guard lock(mutex_);
  if (stopping_ || is_unwanted(*task)) return false;
  made.reached = reached_;
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  const auto pause = pause_before_retry(made, options_, random);
  if (!pause) return false;
  later_.emplace(now + *pause, task);
  return true;
}

void HttpClient::Reactor::finish(const TaskPtr& task, HttpOutcome outcome) {
  const bool failed = outcome.error != nullptr;
  const auto now = SteadyClock::now();
  {
    const std::lock_guard lock(mutex_);
    count(task->owner, [&](StorageCounters& counters) {
      if (failed) ++counters.failed;
      if (task->tries > 0)
        counters.wait_ns +=
            static_cast<std::uint64_t>(std::chrono::nanoseconds(now - task->first_sent).count());
    });
  }
  task->done(std::move(outcome));
  const std::lock_guard lock(mutex_);
  Owner& owner = owners_[task->owner];
  --owner.tasks;
  if (!owner.leaving) return;
  // A give_up() that waits looks at the entry, and erases it.
  if (owner.tasks == 0 && owner.waiting == 0) owners_.erase(task->owner);
  left_.notify_all();
}

HttpClient::HttpClient(const StorageOptions& options)
    : reactor_(std::make_unique<Reactor>(options)) {}

HttpClient::~HttpClient() {
  if (reactor_->is_elsewhere()) static_cast<void>(reactor_.release());
}

void HttpClient::start(Make make, Accept accept, Done done, const void* owner) {
  if (!reactor_->is_elsewhere())
    return reactor_->start(std::move(make), std::move(accept), std::move(done), owner);
  done({{},
        std::make_exception_ptr(
            Error(ErrorKind::kUsage, "a forked process cannot use what its parent has opened", {},
                  "open the storage in this process, or start processes by spawn"))});
}

HttpResponse HttpClient::perform(Make make, Accept accept, const void* owner) {
  // Shared, as the other thread may still be in set_value() when this one has the value.
  const auto promise = std::make_shared<std::promise<HttpOutcome>>();
  std::future<HttpOutcome> future = promise->get_future();
  start(
      std::move(make), std::move(accept),
      [promise](HttpOutcome ended) { promise->set_value(std::move(ended)); }, owner);
  HttpOutcome outcome = future.get();
  if (outcome.error) obey_stop();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.response);
}

void HttpClient::give_up(const void* owner) {
  if (!reactor_->is_elsewhere()) reactor_->give_up(owner);
}

StorageCounters HttpClient::counters(const void* owner) const {
  return reactor_->is_elsewhere() ? StorageCounters{} : reactor_->counters(owner);
}

std::shared_ptr<HttpClient> shared_client(const StorageOptions& options) {
  using Key = std::array<std::int64_t, 6>;
  // Before the clients, so that at exit they end while TLS is still there.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(started);
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<HttpClient>> clients;
  const Key key = {options.most_requests,      options.retries,
                   options.stall.count(),      options.connect.count(),
                   options.retry_time.count(), ::getpid()};
  const std::lock_guard lock(mutex);
  std::shared_ptr<HttpClient>& client = clients[key];
  if (!client) client = std::make_shared<HttpClient>(options);
  return client;
}

}  // namespace packhorse

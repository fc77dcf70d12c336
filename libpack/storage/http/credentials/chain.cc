#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "storage/http/client.h"
#include "storage/http/credentials.h"
#include "storage/http/credentials/sources.h"

namespace packhorse {

namespace {

using WallTime = std::chrono::system_clock::time_point;

constexpr std::chrono::minutes kRenewBefore{5};
constexpr std::chrono::seconds kTryAgainAfter{30};
/// Answers to requests that were signed with older credentials still come in for so long.
constexpr std::chrono::seconds kTooNewToExpire{10};

void check_profile_is_there(const Profile& profile) {
  if (!profile.named || profile.found) return;
  throw Error(
      ErrorKind::kUsage,
      "the profile '" + printable(profile.name) + "' (AWS_PROFILE) is neither in " + profile.places,
      {}, "check its name, or unset AWS_PROFILE");
}

[[noreturn]] void refuse_without(const Profile& profile, const std::string& instance) {
  throw Error(
      ErrorKind::kUsage,
      "there are no credentials for S3: none in the environment (AWS_ACCESS_KEY_ID, "
      "AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_CREDENTIALS_FULL_URI), nor in the "
      "profile '" +
          printable(profile.name) + "' of " + profile.places + ", and the instance's metadata " +
          instance,
      {},
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket, "
      "add `sign=false`");
}

Credentials ask_sources(const Surroundings& around, const CredentialFetch& fetch) {
  if (auto found = from_environment(around)) return std::move(*found);
  const Profile profile = read_profile(around);
  if (auto found = from_web_identity_variables(around, fetch, profile)) return std::move(*found);
  check_profile_is_there(profile);
  if (auto found = from_profile_keys(around, profile)) return std::move(*found);
  if (auto found = from_web_identity_profile(around, fetch, profile)) return std::move(*found);
  if (auto found = from_process(around, profile)) return std::move(*found);
  if (auto found = from_container(around, fetch)) return std::move(*found);
  std::string why_not;
  if (auto found = from_instance(around, fetch, why_not)) return std::move(*found);
  refuse_without(profile, why_not);
}

/// Whether asking ended because whoever asked was stopped, which is no answer for others.
bool was_stopped(const std::exception_ptr& failure) try {
  if (failure) std::rethrow_exception(failure);
  return false;
} catch (const Error& error) {
  return error.kind() == ErrorKind::kInterrupted;
} catch (...) {
  return false;
}

}  // namespace

struct CredentialChain::State {
  Surroundings around;
  CredentialFetch fetch;
  std::mutex mutex;
  std::condition_variable_any answered;
  std::optional<Credentials> known;
  WallTime known_since, next_try;
  bool asking = false;
  std::uint64_t round = 0;     ///< of asking, counted at its end
  std::exception_ptr failure;  ///< of the last round
  std::jthread renewal;        ///< last: it uses all of the above

  State(Surroundings surroundings, CredentialFetch way)
      : around(std::move(surroundings)), fetch(std::move(way)) {}

  bool valid(WallTime now) const { return known && (!known->expires || now < *known->expires); }
  void ask();
  void renew_if_due(WallTime now);
};

/// The caller has set `asking`, and does not hold the mutex.
void CredentialChain::State::ask() {
  const WallTime begin = around.now();
  std::optional<Credentials> found;
  std::exception_ptr error;
  try {
    found = ask_sources(around, fetch);
  } catch (...) {
    error = std::current_exception();
  }
  const WallTime end = around.now();
  const std::scoped_lock lock(mutex);
  asking = false;
  ++round;
  failure = error;
  next_try = begin + kTryAgainAfter;
  if (found) {
    known = std::move(found);
    known_since = end;
  }
  answered.notify_all();
}

/// The mutex is held. A renewal that fails is tried again while the old ones last.
void CredentialChain::State::renew_if_due(WallTime now) {
  if (asking || !known->expires || now < *known->expires - kRenewBefore || now < next_try) return;
  try {
    // The thread before this one has nothing left to do but to end.
    renewal = std::jthread([this] { ask(); });
    asking = true;
  } catch (const std::system_error&) {
    next_try = now + kTryAgainAfter;
  }
}

CredentialChain::CredentialChain(Surroundings around, CredentialFetch fetch)
    : state_(std::make_unique<State>(std::move(around), std::move(fetch))) {}

CredentialChain::~CredentialChain() = default;

Credentials CredentialChain::get() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  while (true) {
    const WallTime now = state.around.now();
    if (state.valid(now)) {
      state.renew_if_due(now);
      return *state.known;
    }
    if (!state.asking) {
      state.asking = true;
      lock.unlock();
      state.ask();
      lock.lock();
    } else {
      const std::uint64_t round = state.round;
      state.answered.wait(lock, current_stop(), [&] { return state.round != round; });
    }
    obey_stop();
    if (state.failure && !was_stopped(state.failure)) std::rethrow_exception(state.failure);
  }
}

void CredentialChain::expired() {
  const std::scoped_lock lock(state_->mutex);
  if (state_->around.now() >= state_->known_since + kTooNewToExpire) state_->known.reset();
}

namespace {

constexpr std::size_t kMostFileBytes = 1u << 20;

std::optional<std::string> variable_of_process(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

/// The size that a file claims is not asked for: files of the kernel have none.
std::optional<std::string> file_on_disk(const std::string& path) {
  refuse_url(path);
  const UniqueFd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!fd) throw_errno("open", path);
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t n = uninterrupted([&] { return ::read(fd.get(), buffer.data(), buffer.size()); });
    if (n < 0) throw_errno("read", path);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kMostFileBytes)
      throw Error(ErrorKind::kUsage, "the file has more than 1 MiB, too much for credentials", path,
                  "check whether it is the right one");
  }
}

}  // namespace

Surroundings Surroundings::of_process() {
  return {variable_of_process, file_on_disk, std::chrono::system_clock::now};
}

namespace {

/// A service of this machine is asked whether it is there, so a program elsewhere waits for it; and
/// all callers wait for credentials.
StorageOptions fetch_options(Patience patience) {
  using std::chrono::milliseconds;
  StorageOptions options;
  options.most_requests = 1;
  const bool near = patience == Patience::kNear;
  options.connect = milliseconds(near ? 1'000 : 5'000);
  options.stall = milliseconds(near ? 2'000 : 10'000);
  options.retries = near ? 2 : 4;
  options.retry_time = milliseconds(near ? 5'000 : 30'000);
  return options;
}

}  // namespace

HttpResponse fetch_over_http(const HttpRequest& request, Patience patience) {
  constexpr int kTooMany = 429, kServerFault = 500;
  const auto accept = [&](const HttpResponse& response, bool* repeat) -> std::exception_ptr {
    if (response.status != kTooMany && response.status < kServerFault) return nullptr;
    *repeat = true;
    return std::make_exception_ptr(Error(
        ErrorKind::kIo,
        "a service that hands out credentials answers HTTP " + std::to_string(response.status),
        request.shown, "try again later"));
  };
  HttpClient client(fetch_options(patience));
  return client.perform([&] { return request; }, accept);
}

CredentialChain::CredentialChain(Surroundings around)
    : CredentialChain(std::move(around), fetch_over_http) {}

}  // namespace packhorse

#include "storage/http/curl_loop.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::chrono::milliseconds kMostPatience{60'000};

/// libcurl's own place is that of the system it was built on, which need not be this one.
std::string trusted_certificates() {
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  for (const char* path :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}) {
    if (::access(path, R_OK) == 0) return path;
  }
  return {};
}

MultiHandle new_multi(const StorageOptions& options) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  MultiHandle multi(started == CURLE_OK ? curl_multi_init() : nullptr);
  if (!multi) throw Error(ErrorKind::kUnsupported, "libcurl cannot start");
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options.most_requests));
  return multi;
}

std::exception_ptr given_up() {
  return std::make_exception_ptr(
      Error(ErrorKind::kInterrupted, "the request was given up, as nobody wants it any more"));
}

}  // namespace

void block_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&signals, fault);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

CurlLoop::CurlLoop(const StorageOptions& options)
    : options_(options), certificates_(trusted_certificates()), multi_(new_multi(options)) {
  thread_ = std::thread([this] { run(); });
}

CurlLoop::~CurlLoop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

void CurlLoop::send(std::unique_ptr<Transfer> transfer) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back({sent_++, std::move(transfer)});
  }
  curl_multi_wakeup(multi_.get());
}

void CurlLoop::give_up(const void* name) {
  {
    const std::lock_guard lock(mutex_);
    unwanted_.push_back({name, sent_});
  }
  curl_multi_wakeup(multi_.get());
}

void CurlLoop::run() {
  block_signals();
  while (take_orders()) {
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) end_all();
    end_finished();
    end_stalled();
    curl_multi_poll(multi_.get(), nullptr, 0, patience_ms(), nullptr);
  }
  end_all();
}

/// Begins what was sent, ends what is no longer wanted, and returns whether to go on.
bool CurlLoop::take_orders() {
  std::vector<Sent> fresh;
  std::vector<Unwanted> unwanted;
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(inbox_);
    unwanted.swap(unwanted_);
    stopping = stopping_;
  }
  const auto is_unwanted = [&](const Sent& sent) {
    return std::ranges::any_of(unwanted, [&](const Unwanted& one) {
      return sent.transfer->is_of(one.name) && sent.number < one.before;
    });
  };
  std::vector<CURL*> ended;
  for (const auto& [handle, active] : active_) {
    if (is_unwanted(active.sent)) ended.push_back(handle);
  }
  for (CURL* handle : ended) take_off(handle)->end_by(given_up(), false);
  for (Sent& sent : fresh) {
    if (stopping || is_unwanted(sent)) {
      sent.transfer->end_by(given_up(), false);
    } else {
      begin(std::move(sent));
    }
  }
  return !stopping;
}

void CurlLoop::begin(Sent sent) {
  try {
    EasyHandle handle;
    if (idle_.empty()) {
      handle.reset(curl_easy_init());
      if (!handle) throw std::bad_alloc();
    } else {
      handle = std::move(idle_.back());
      idle_.pop_back();
    }
    sent.transfer->begin(handle.get(), options_, certificates_);
    CURL* key = handle.get();
    Active& active = active_[key];
    active = {std::move(handle), std::move(sent)};
    const CURLMcode code = curl_multi_add_handle(multi_.get(), key);
    if (code == CURLM_OK) return;
    sent = std::move(active.sent);
    active_.erase(key);
    throw Error(ErrorKind::kIo,
                std::string("libcurl takes no request: ") + curl_multi_strerror(code));
  } catch (...) {
    sent.transfer->end_by(std::current_exception(), false);
  }
}

std::unique_ptr<Transfer> CurlLoop::take_off(CURL* handle) {
  curl_multi_remove_handle(multi_.get(), handle);
  const auto found = active_.find(handle);
  Active active = std::move(found->second);
  active_.erase(found);
  curl_easy_reset(active.handle.get());  // keeps names looked up and TLS sessions
  idle_.push_back(std::move(active.handle));
  return std::move(active.sent.transfer);
}

void CurlLoop::end_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message goes with its handle
    take_off(message->easy_handle)->end(code);
  }
}

void CurlLoop::end_stalled() {
  const auto now = Transfer::Clock::now();
  std::vector<CURL*> stalled;
  for (const auto& [handle, active] : active_) {
    if (active.sent.transfer->deadline() <= now) stalled.push_back(handle);
  }
  for (CURL* handle : stalled) take_off(handle)->end_stalled();
}

void CurlLoop::end_all() {
  while (!active_.empty()) take_off(active_.begin()->first)->end_by(given_up(), false);
}

int CurlLoop::patience_ms() const {
  auto until = Transfer::Clock::now() + kMostPatience;
  for (const auto& [handle, active] : active_)
    until = std::min(until, active.sent.transfer->deadline());
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - Transfer::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kMostPatience.count()));
}

}  // namespace packhorse

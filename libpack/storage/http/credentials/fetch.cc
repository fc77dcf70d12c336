#include <exception>
#include <utility>

#include "packhorse/base/error.h"
#include "storage/http/client.h"
#include "storage/http/credentials.h"

namespace packhorse {

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
    return std::make_exception_ptr(
        Error(ErrorKind::kIo,
              "a service that hands out credentials answers HTTP " +
                  std::to_string(response.status),
              request.shown, "try again later"));
  };
  HttpClient client(fetch_options(patience));
  return client.perform([&] { return request; }, accept);
}

CredentialChain::CredentialChain(Surroundings around)
    : CredentialChain(std::move(around), fetch_over_http) {}

}  // namespace packhorse

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "packhorse/base/error.h"
#include "packhorse/dataset/url.h"
#include "storage/http/client.h"
#include "storage/http/credentials/answer.h"
#include "storage/http/credentials/sources.h"
#include "storage/http/credentials/text.h"

namespace packhorse {

namespace {

constexpr const char* kEcsHost = "http://169.254.170.2";
constexpr const char* kContainer = "the answer of the container's credential service";
constexpr std::uint64_t kMostContainerAnswer = 64u << 10;
constexpr std::size_t kMostAuthorization = 16u << 10;

/// Without its port, and an IPv6 address without its brackets.
std::string bare_host(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Addresses that no other machine can have: this machine's own, and those at which AWS's agents
/// answer. No other name: whoever answers for names could send the token elsewhere.
bool is_near(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    const std::uint32_t address = ntohl(v4.s_addr);
    constexpr std::uint32_t kLoopback = 127, kEcs = 0xa9fe'aa02, kEks = 0xa9fe'aa17;
    return address >> 24 == kLoopback || address == kEcs || address == kEks;
  }
  using Address6 = std::array<std::uint8_t, 16>;
  constexpr Address6 kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr Address6 kEks6 = {0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23};
  Address6 v6{};
  return ::inet_pton(AF_INET6, host.c_str(), v6.data()) == 1 && (v6 == kLoopback6 || v6 == kEks6);
}

void check_service(const std::string& url, const char* variable) {
  if (!is_header_text(url, false))
    throw Error(ErrorKind::kUsage, std::string(variable) + " is not a URL", {},
                "percent-encode it");
  const Url place = parse_url(url);
  if (place.scheme == "https" || (place.scheme == "http" && is_near(bare_host(place.host)))) return;
  throw Error(ErrorKind::kUsage, std::string(variable) + " leads over a network without encryption",
              place.shown(),
              "give one that begins with https://, or that of an agent on this machine");
}

std::optional<std::string> service_url(const Surroundings& around) {
  if (const auto relative = variable_of(around, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    if (!relative->starts_with('/'))
      throw Error(ErrorKind::kUsage,
                  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash", {},
                  "give a path, or a whole URL as AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const std::string url = kEcsHost + *relative;
    check_service(url, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    return url;
  }
  auto full = variable_of(around, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full) check_service(*full, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  return full;
}

/// The file is read each time: agents write a new token into it.
std::optional<std::string> authorization(const Surroundings& around) {
  std::optional<std::string> token = variable_of(around, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const auto file = variable_of(around, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (file) token = around.file(*file);
  if (file && !token)
    throw Error(ErrorKind::kNotFound, "the file with the container's token is not there", *file,
                "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!token) return std::nullopt;
  const std::string_view text = trimmed(*token);
  if (text.empty() || text.size() > kMostAuthorization || !is_header_text(text, true))
    throw Error(
        ErrorKind::kUsage, "the container's token cannot be sent in a header", file.value_or(""),
        "check AWS_CONTAINER_AUTHORIZATION_TOKEN and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return std::string(text);
}

}  // namespace

std::optional<Credentials> from_container(const Surroundings& around,
                                          const CredentialFetch& fetch) {
  const auto url = service_url(around);
  if (!url) return std::nullopt;
  HttpRequest request;
  request.url = *url;
  request.shown = parse_url(*url).shown();
  request.headers = {{"accept", "application/json"}};
  if (const auto token = authorization(around))
    request.headers.emplace_back("authorization", *token);
  request.most = kMostContainerAnswer;
  const HttpResponse response = fetch(request, Patience::kNear);
  constexpr int kOk = 200;
  if (response.status != kOk)
    throw Error(
        ErrorKind::kIo,
        "the container's credential service answers HTTP " + std::to_string(response.status),
        request.shown, "check the role of the task or the pod");
  return checked_credentials(fields_in_json(as_text(response.body), "Token", kContainer),
                             kContainer, around.now());
}

}  // namespace packhorse

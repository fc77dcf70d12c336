#include "storage/http/transfer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/version.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostHeaderBytes = 64u << 10;
constexpr std::size_t kMostErrorBody = 64u << 10;   ///< kept of an answer that is for messages
constexpr std::uint64_t kMostErrorRead = 1u << 20;  ///< read of it, so that its connection stays
constexpr long kMostRedirects = 5;
constexpr long kReadBuffer = 256L << 10;
constexpr int kPatience = 30;                ///< times the time of a stall, before pace counts
constexpr std::uint64_t kLeastSpeed = 1024;  ///< bytes a second, on the whole

template <class Value>
void set_option(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code == CURLE_OK) return;
  const curl_easyoption* known = curl_easy_option_by_id(option);
  throw Error(ErrorKind::kUnsupported,
              fmt::format("libcurl refuses the option {}: {}", known ? known->name : "needed",
                          curl_easy_strerror(code)),
              {}, "libcurl 7.85 or newer is needed, with HTTP/2 and TLS");
}

/// libcurl takes "authorization" and "cookie" off where a redirect leads to another host, but knows
/// nothing of the other headers that bear secrets.
bool may_follow(const HttpRequest& request) {
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) return false;
  return std::ranges::none_of(request.headers, [](const auto& header) {
    const std::string name = lower_case(header.first);
    return name == "authorization" || name == "cookie" || name.starts_with("x-");
  });
}

/// Metadata of machines and containers come from link-local addresses, never through a proxy.
bool is_link_local(std::string_view url) {
  return url.starts_with("http://169.254.") || url.starts_with("http://[fd00:ec2:");
}
/// Link-local addresses of IPv4 and IPv6, and that of AWS' metadata.
bool is_link_local_address(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 16) == 0xa9fe;
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return false;
  const std::uint8_t* const bytes = six.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&six)) return bytes[12] == 0xa9 && bytes[13] == 0xfe;
  return IN6_IS_ADDR_LINKLOCAL(&six) ||
         (bytes[0] == 0xfd && bytes[1] == 0 && bytes[2] == 0x0e && bytes[3] == 0xc2);
}

/// Whether a URL, or what stands for one in a redirect, names such an address as its host.
bool has_link_local_host(std::string_view url) {
  const std::size_t slashes = url.find("//");
  if (slashes == std::string_view::npos || (slashes > 0 && url[slashes - 1] != ':')) return false;
  url.remove_prefix(slashes + 2);
  url = url.substr(0, url.find_first_of("/?#"));
  url.remove_prefix(std::min(url.rfind('@') + 1, url.size()));
  if (url.starts_with('[')) return is_link_local_address(url.substr(1, url.find(']') - 1));
  return is_link_local_address(url.substr(0, url.find(':')));
}

/// Whether a fault may go by when the same is asked again.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PROXY:
      return true;
    default:
      return false;
  }
}

/// What to do about a fault of a connection.
const char* advice_for(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "check the host's name, and the network";
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return "check the environment's http_proxy, https_proxy and no_proxy";
    case CURLE_COULDNT_CONNECT:
      return "check the host, its port, and the network";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "name a file with the certificate of the server's authority in SSL_CERT_FILE";
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "redirects from https to http are not followed: check the URL";
    case CURLE_TOO_MANY_REDIRECTS:
      return "check the URL";
    default:
      return "try again; if it stays so, ask whoever runs the server";
  }
}

/// libcurl's own words are more exact, but only some are known to say nothing that the URL's query
/// or a header holds.
bool may_show_reason(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR;
}

}  // namespace

Transfer::Transfer(HttpRequest request, const void* owner, const void* task, Finished finished)
    : request_(std::move(request)), owner_(owner), task_(task), finished_(std::move(finished)) {}

void Transfer::begin(CURL* handle, const StorageOptions& options, const std::string& certificates) {
  began_ = heard_ = Clock::now();
  stall_ = options.stall;
  connect_ = options.connect;
  set_target(handle);
  set_headers(handle);
  set_limits(handle, options, certificates);
  set_callbacks(handle);
}

void Transfer::set_target(CURL* handle) {
  const bool is_https = lower_case(request_.url.substr(0, 6)) == "https:";
  set_option(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set_option(handle, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
  set_option(handle, CURLOPT_URL, request_.url.c_str());
  set_option(handle, CURLOPT_PATH_AS_IS, 1L);
  set_option(handle, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set_option(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set_option(handle, CURLOPT_FOLLOWLOCATION, may_follow(request_) ? 1L : 0L);
  set_option(handle, CURLOPT_MAXREDIRS, kMostRedirects);
  if (is_link_local(request_.url)) set_option(handle, CURLOPT_PROXY, "");
  if (request_.method == "HEAD") {
    set_option(handle, CURLOPT_NOBODY, 1L);
  } else if (request_.method == "GET") {
    set_option(handle, CURLOPT_HTTPGET, 1L);
  } else {
    set_option(handle, CURLOPT_POST, 1L);
    set_option(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set_option(handle, CURLOPT_POSTFIELDS, as_text(request_.body).data());
    if (request_.body.empty()) set_option(handle, CURLOPT_POSTFIELDS, "");
    set_option(handle, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
}

void Transfer::set_headers(CURL* handle) {
  // Without the first, servers may compress; the others, without a value, stay unsent.
  std::vector<std::string> lines = {"Accept-Encoding: identity", "Expect:"};
  bool has_type = false;
  for (const auto& [name, value] : request_.headers) {
    if ((name + value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      throw Error(ErrorKind::kUsage, "a header of the request has a line break", request_.shown);
    has_type = has_type || lower_case(name) == "content-type";
    lines.push_back(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!has_type) lines.emplace_back("Content-Type:");
  for (const std::string& line : lines) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  }
  set_option(handle, CURLOPT_HTTPHEADER, headers_.get());
  set_option(handle, CURLOPT_USERAGENT, ("packhorse/" + version()).c_str());
}

void Transfer::set_limits(CURL* handle, const StorageOptions& options,
                          const std::string& certificates) {
  set_option(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  set_option(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  set_option(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!certificates.empty()) {
    // libcurl keeps what it has read of a file for the next connections, but not with a directory
    // beside it.
    set_option(handle, CURLOPT_CAINFO, certificates.c_str());
    set_option(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set_option(handle, CURLOPT_NOSIGNAL, 1L);
  set_option(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  set_option(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect.count()));
  // Refused, which does no harm, by a handle that keeps the buffer of an HTTP/2 stream before.
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, kReadBuffer);
  set_option(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set_option(handle, CURLOPT_ERRORBUFFER, reason_);
}

void Transfer::set_callbacks(CURL* handle) {
  using Take = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  const Take header = [](char* data, std::size_t one, std::size_t size, void* self) {
    const std::size_t bytes = one * size;
    try {
      return static_cast<Transfer*>(self)->take_header({data, bytes}) ? bytes : bytes + 1;
    } catch (...) {
      return bytes + 1;
    }
  };
  const Take body = [](char* data, std::size_t one, std::size_t size, void* self) {
    const std::size_t bytes = one * size;
    try {
      return static_cast<Transfer*>(self)->take_body(as_bytes({data, bytes})) ? bytes : bytes + 1;
    } catch (...) {
      return bytes + 1;
    }
  };
  const curl_prereq_callback connected = [](void* self, char* address, char*, int, int) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->connected_ = true;
    transfer->heard_ = Clock::now();
    const bool led = transfer->led_ && address != nullptr && is_link_local_address(address) &&
                     !has_link_local_host(transfer->request_.url);
    if (led) transfer->refuse_link_local();
    return led ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  };
  const curl_xferinfo_callback progress = [](void* self, curl_off_t, curl_off_t, curl_off_t,
                                             curl_off_t sent) {
    auto* transfer = static_cast<Transfer*>(self);
    if (sent != transfer->sent_) transfer->heard_ = Clock::now();
    transfer->sent_ = sent;
    return 0;
  };
  set_option(handle, CURLOPT_HEADERFUNCTION, header);
  set_option(handle, CURLOPT_HEADERDATA, this);
  set_option(handle, CURLOPT_WRITEFUNCTION, body);
  set_option(handle, CURLOPT_WRITEDATA, this);
  set_option(handle, CURLOPT_PREREQFUNCTION, connected);
  set_option(handle, CURLOPT_PREREQDATA, this);
  if (request_.body.empty()) return;
  set_option(handle, CURLOPT_XFERINFOFUNCTION, progress);
  set_option(handle, CURLOPT_XFERINFODATA, this);
  set_option(handle, CURLOPT_NOPROGRESS, 0L);
}

Transfer::Clock::time_point Transfer::deadline() const {
  if (!connected_) return began_ + connect_ + stall_;
  return std::min(heard_ + stall_, pace_ends());
}

/// When it has been too slow as a whole: a server may send a byte now and then for ever.
Transfer::Clock::time_point Transfer::pace_ends() const {
  const std::uint64_t moved = received_ + header_bytes_ + static_cast<std::uint64_t>(sent_);
  constexpr std::uint64_t kMostSeconds = 1'000'000'000;
  return began_ + connect_ + kPatience * stall_ +
         std::chrono::seconds(std::min(moved / kLeastSpeed, kMostSeconds));
}

bool Transfer::refuse(ErrorKind kind, const std::string& what) {
  refusal_ = std::make_exception_ptr(
      Error(kind, what, request_.shown, "ask whoever runs the server, or use another one"));
  return false;
}

bool Transfer::take_header(std::string_view line) {
  heard_ = Clock::now();
  header_bytes_ += line.size();
  if (header_bytes_ > kMostHeaderBytes)
    return refuse(ErrorKind::kCorrupt, "the server's answer has more than 64 KiB of headers");
  if (line.starts_with("HTTP/")) {  // a redirect's and a proxy's answers come before
    response_ = {};
    const std::size_t space = std::min(line.find(' '), line.size());
    response_.status = static_cast<int>(
        parse_number<std::uint64_t>(trimmed(line.substr(space)).substr(0, 3)).value_or(0));
    return true;
  }
  if (trimmed(line).empty()) return take_head_end();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return true;
  const auto& [name, value] = response_.headers.emplace_back(
      lower_case(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1))));
  if (name != "location") return true;
  led_ = true;  // the address itself is looked at once it is connected; but it may not answer
  return has_link_local_host(value) && !has_link_local_host(request_.url) ? refuse_link_local()
                                                                          : true;
}

/// A server may lead to what only this machine can reach: the metadata of its host.
bool Transfer::refuse_link_local() {
  response_ = {};  // which is judged where there is one
  return refuse(ErrorKind::kUnsupported, "the server leads to a link-local address");
}

/// Stops before the body of an answer whose length is not what it must be.
bool Transfer::take_head_end() {
  if (!is_success() || request_.method == "HEAD") return true;
  const auto value = response_.header("content-length");
  const auto length = value ? parse_number<std::uint64_t>(*value) : std::nullopt;
  if (!length) return true;
  if (!request_.collect && *length != request_.into.size()) {
    return refuse(ErrorKind::kCorrupt,
                  fmt::format("the server's answer has {} bytes, where {} were asked for", *length,
                              request_.into.size()));
  }
  if (request_.collect && *length > request_.most) {
    return refuse(ErrorKind::kCorrupt,
                  fmt::format("the server's answer has {} bytes, where at most {} are right",
                              *length, request_.most));
  }
  return true;
}

bool Transfer::take_body(Bytes piece) {
  heard_ = Clock::now();
  received_ += piece.size();
  if (is_success() && !request_.collect) {
    if (piece.size() > request_.into.size() - filled_) {
      return refuse(ErrorKind::kCorrupt,
                    fmt::format("the server's answer has more bytes than the {} asked for",
                                request_.into.size()));
    }
    if (!piece.empty()) std::memcpy(request_.into.data() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
    return true;
  }
  std::vector<std::byte>& body = response_.body;
  if (is_success() && piece.size() > request_.most - body.size()) {
    return refuse(ErrorKind::kCorrupt,
                  fmt::format("the server's answer has more than {} bytes", request_.most));
  }
  if (!is_success()) {
    enough_ = received_ > kMostErrorRead;
    piece = piece.first(std::min(piece.size(), kMostErrorBody - body.size()));
  }
  body.insert(body.end(), piece.begin(), piece.end());
  return !enough_;
}

std::exception_ptr Transfer::failure_of(CURLcode code, bool* may_repeat) const {
  if (refusal_) return refusal_;
  if (code == CURLE_WRITE_ERROR && enough_) return nullptr;
  if (code != CURLE_OK) {
    *may_repeat = may_pass(code);
    const std::string reason =
        may_show_reason(code) && reason_[0] != '\0' ? reason_ : curl_easy_strerror(code);
    return std::make_exception_ptr(Error(ErrorKind::kIo,
                                         "cannot get an answer: " + printable_text(reason),
                                         request_.shown, advice_for(code)));
  }
  if (response_.status < 200) {
    *may_repeat = true;
    return std::make_exception_ptr(
        Error(ErrorKind::kIo, "the server sent no answer", request_.shown, advice_for(code)));
  }
  if (is_success() && !request_.collect && filled_ != request_.into.size()) {
    *may_repeat = true;  // the end of a connection may be the end of such a body
    return std::make_exception_ptr(Error(
        ErrorKind::kCorrupt,
        fmt::format("the server sent {} bytes of the {} asked for", filled_, request_.into.size()),
        request_.shown, advice_for(code)));
  }
  return nullptr;
}

void Transfer::end(CURLcode code) {
  bool may_repeat = false;
  std::exception_ptr error = failure_of(code, &may_repeat);
  end_by(std::move(error), may_repeat);
}

void Transfer::end_stalled() {
  const auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  const bool slow = connected_ && pace_ends() < heard_ + stall_;
  const std::string what =
      slow ? fmt::format("the server is too slow: {} bytes in {:.3g} s", received_,
                         seconds(Clock::now() - began_))
           : fmt::format("nothing came from the server for {:.3g} s", seconds(stall_));
  end_by(std::make_exception_ptr(Error(ErrorKind::kIo, what, request_.shown,
                                       "check the network; the time is in the storage's options")),
         true);
}

void Transfer::end_by(std::exception_ptr error, bool may_repeat) {
  if (response_.status < 200) response_ = {};
  finished_(*this, {std::move(response_), std::move(error), may_repeat});
}

}  // namespace packhorse

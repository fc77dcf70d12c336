#include "storage/http/sigv4.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "dataset/url.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kTerminator = "aws4_request";

using HmacSum = std::array<std::byte, 32>;

HmacSum hmac_sha256(Bytes key, std::string_view text) {
  HmacSum sum{};
  unsigned length = 0;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  auto* const out = reinterpret_cast<unsigned char*>(sum.data());
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), data, text.size(), out,
             &length) == nullptr ||
      length != sum.size())
    throw Error(ErrorKind::kIo, "OpenSSL cannot compute the signature of a request", {},
                "check the memory limit, and the system's openssl.cnf");
  return sum;
}

/// The key that a day's requests to one region are signed with. It takes four HMACs, so each thread
/// keeps the last few.
HmacSum signing_key(const std::string& secret, std::string_view date, std::string_view region,
                    std::string_view service) {
  struct Derived {
    std::string secret, date, region, service;
    HmacSum key{};
  };
  static constexpr std::size_t kKept = 4;
  thread_local std::array<Derived, kKept> kept;
  thread_local std::size_t oldest = 0;
  for (const Derived& one : kept) {
    if (one.date == date && one.region == region && one.service == service && one.secret == secret)
      return one.key;
  }
  HmacSum key = hmac_sha256(as_bytes("AWS4" + secret), date);
  for (const std::string_view text : {region, service, kTerminator}) key = hmac_sha256(key, text);
  kept[oldest] = {secret, std::string(date), std::string(region), std::string(service), key};
  oldest = (oldest + 1) % kKept;
  return key;
}

std::string sum_in_hex(const HmacSum& sum) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : sum) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

/// "20130524T000000Z"
std::string time_stamp(std::chrono::system_clock::time_point when) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(seconds - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

/// Without spaces at its ends, and with one for several.
std::string squeezed(std::string_view value) {
  std::string out;
  bool space = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      space = !out.empty();
      continue;
    }
    if (space) out += ' ';
    space = false;
    out += c;
  }
  return out;
}

/// The lines of the canonical request that name the headers, and those names.
struct CanonicalHeaders {
  std::string lines, names;
};

CanonicalHeaders canonical_headers(const std::string& host, const HttpHeaders& headers) {
  std::map<std::string, std::string> sorted = {{"host", squeezed(host)}};
  for (const auto& [name, value] : headers) {
    const auto [at, first] = sorted.try_emplace(lower_case(name), squeezed(value));
    if (!first) at->second += "," + squeezed(value);
  }
  CanonicalHeaders canonical;
  for (const auto& [name, value] : sorted) {
    canonical.lines += name + ":" + value + "\n";
    canonical.names += (canonical.names.empty() ? "" : ";") + name;
  }
  return canonical;
}

}  // namespace

std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query)
    encoded.emplace_back(percent_encoded(name, false), percent_encoded(value, false));
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

HttpHeaders signed_headers(const ToSign& to_sign, const Credentials& credentials,
                           std::string_view region, std::string_view service,
                           std::chrono::system_clock::time_point when) {
  const std::string stamp = time_stamp(when);
  const std::string_view date = std::string_view(stamp).substr(0, stamp.find('T'));
  HttpHeaders headers = to_sign.headers;
  headers.emplace_back("x-amz-content-sha256", to_sign.payload_hash);
  headers.emplace_back("x-amz-date", stamp);
  if (!credentials.session_token.empty())
    headers.emplace_back("x-amz-security-token", credentials.session_token);
  const CanonicalHeaders canonical = canonical_headers(to_sign.host, headers);
  const std::string path = to_sign.path.empty() ? "/" : percent_encoded(to_sign.path, true);
  const std::string request =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", to_sign.method, path, canonical_query(to_sign.query),
                  canonical.lines, canonical.names, to_sign.payload_hash);
  const std::string scope = fmt::format("{}/{}/{}/{}", date, region, service, kTerminator);
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, stamp, scope, sha256(as_bytes(request)));
  const HmacSum key = signing_key(credentials.secret_key, date, region, service);
  headers.emplace_back("authorization",
                       fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}",
                                   kAlgorithm, credentials.access_key, scope, canonical.names,
                                   sum_in_hex(hmac_sha256(key, text))));
  return headers;
}

}  // namespace packhorse

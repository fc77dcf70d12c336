#include "dataset/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostUrlBytes = 4096;
constexpr std::size_t kMostShownBytes = 200;
constexpr std::string_view kUnreserved = "-._~";
constexpr const char* kSchemeAdvice = "give a URL that begins with s3://, https:// or http://";

struct OtherScheme {
  std::string_view name;
  const char* advice;
};
constexpr const char* kAzureAdvice =
    "Azure has no S3 interface: read its https:// addresses, signed by `url_command=`";
constexpr OtherScheme kOtherSchemes[] = {
    {"gs",
     "Google's storage has an S3 interface: give s3://BUCKET/PATH, "
     "`endpoint=https://storage.googleapis.com` and the HMAC key in AWS_ACCESS_KEY_ID and "
     "AWS_SECRET_ACCESS_KEY"},
    {"az", kAzureAdvice},
    {"abfs", kAzureAdvice},
    {"abfss", kAzureAdvice},
    {"wasbs", kAzureAdvice},
    {"hf", "Parquet files of the Hub are packed in Python: packhorse.from_parquet()"},
    {"file", "give the path alone"},
};

bool is_letter_or_digit(unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; }

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

[[noreturn]] void refuse(std::string_view text, const std::string& why, const std::string& advice) {
  throw Error(ErrorKind::kUsage, "the URL '" + harmless_url(text) + "' " + why, {}, advice);
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high << 4 | *low);
    i += 2;
  }
  return out;
}

bool has_dot_part(std::string_view path) {
  return std::ranges::any_of(split_text(path, '/'),
                             [](std::string_view part) { return part == "." || part == ".."; });
}

std::string path_of(std::string_view text, std::string_view rest) {
  const auto decoded = percent_decoded(rest);
  if (!decoded)
    refuse(text, "has a percent sign that encodes nothing", "write a percent sign as %25");
  if (std::any_of(decoded->begin(), decoded->end(), is_control))
    refuse(text, "has control characters in its path", "check what it was made of");
  if (has_dot_part(*decoded)) refuse(text, "has a part '.' or '..'", "write the path without it");
  return std::string(trimmed(*decoded, "/"));
}

/// RFC 1123, and underscores, which networks of containers have in their names.
bool is_host_name(std::string_view host) {
  constexpr std::size_t kMostHost = 253, kMostLabel = 63;
  if (host.empty() || host.size() > kMostHost) return false;
  for (const std::string_view label : split_text(host, '.')) {
    if (label.empty() || label.size() > kMostLabel || label.front() == '-' || label.back() == '-')
      return false;
    if (!std::ranges::all_of(
            label, [](unsigned char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }))
      return false;
  }
  return true;
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::optional<unsigned> port_of(std::string_view text) {
  constexpr unsigned kMostPort = 65535;
  const auto port = parse_number<unsigned>(text);
  return port && *port > 0 && *port <= kMostPort ? port : std::nullopt;
}

/// In lower case, and without the port that the scheme has anyway: the Host header lacks it, too,
/// and a signature covers that header.
std::string host_of(std::string_view text, std::string_view scheme, std::string_view authority) {
  constexpr const char* kAdvice = "it begins like https://host/ or https://host:8080/";
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) refuse(text, "has a host that cannot be", kAdvice);
  const std::size_t colon = std::min(authority.find(':', bracket), authority.size());
  std::string host = lower_case(authority.substr(0, colon));
  const bool valid = bracket == 0 ? is_host_name(host)
                                  : colon == bracket + 1 && is_ipv6(host.substr(1, bracket - 1));
  if (!valid) refuse(text, "has a host that cannot be", kAdvice);
  if (colon == authority.size()) return host;
  const auto port = port_of(authority.substr(colon + 1));
  if (!port) refuse(text, "has a port that cannot be", kAdvice);
  if (*port != (scheme == "http" ? 80u : 443u)) host += ":" + std::to_string(*port);
  return host;
}

/// Names that AWS gave before 2018 are longer and have underscores and capitals; other servers take
/// them to this day.
bool is_bucket(std::string_view name) {
  constexpr std::size_t kLeast = 3, kMost = 255;
  return name.size() >= kLeast && name.size() <= kMost &&
         is_letter_or_digit(static_cast<unsigned char>(name.front())) &&
         name.find("..") == std::string_view::npos &&
         std::ranges::all_of(name, [](unsigned char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

void check_query(std::string_view text, std::string_view query) {
  const bool plain =
      std::ranges::all_of(query, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!plain || !percent_decoded(query))
    refuse(text, "has a query that is not percent-encoded", "give it as the server wrote it");
}

}  // namespace

Url parse_url(std::string_view text) {
  if (text.size() > kMostUrlBytes)
    throw Error(ErrorKind::kUsage, "a URL has more than 4 KiB", {}, "check what it was made of");
  if (!is_url(text))
    throw Error(ErrorKind::kUsage, "what should be a URL does not begin as one", {}, kSchemeAdvice);
  const std::size_t colon = text.find("://");
  Url url;
  url.scheme = lower_case(text.substr(0, colon));
  if (url.scheme != "s3" && url.scheme != "https" && url.scheme != "http") {
    const auto other = std::ranges::find(kOtherSchemes, url.scheme, &OtherScheme::name);
    refuse(text, "has a scheme that is not known here",
           other == std::end(kOtherSchemes) ? kSchemeAdvice : other->advice);
  }
  if (std::ranges::any_of(text, is_control))
    refuse(text, "has control characters", "check what it was made of");
  if (text.find('#') != std::string_view::npos)
    refuse(text, "has a fragment", "write a '#' that belongs to a name as %23");
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  const std::size_t query = std::min(rest.find('?'), rest.size());
  const std::string_view authority = rest.substr(0, path);
  if (authority.find('@') != std::string_view::npos)
    refuse(text, "names a user or a password", "take them out: others would see them there");
  if (url.scheme != "s3") {
    url.host = host_of(text, url.scheme, authority);
  } else if (query != rest.size()) {
    refuse(text, "has a query", "write a '?' that belongs to a name as %3F");
  } else if (!is_bucket(authority)) {
    refuse(text, "names a bucket that cannot be", "it begins like s3://bucket/");
  } else {
    url.host = authority;
  }
  url.path = path_of(text, rest.substr(path, query - path));
  url.query = rest.substr(std::min(query + 1, rest.size()));
  check_query(text, url.query);
  return url;
}

std::string harmless_url(std::string_view text) {
  return printable(without_secrets(text).substr(0, kMostShownBytes));
}

std::string Url::shown() const {
  return scheme + "://" + printable(path.empty() ? host : host + "/" + path);
}

Url Url::below(std::string_view name) const {
  if (!is_inner_name(name))
    throw Error(ErrorKind::kCorrupt, "a name leads outside the place that it belongs to", shown(),
                "do not trust what names it");
  Url inner = *this;
  if (!inner.path.empty()) inner.path += '/';
  inner.path += name;
  return inner;
}

std::string percent_encoded(std::string_view text, bool keep_slashes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(byte) || kUnreserved.find(c) != std::string_view::npos ||
        (keep_slashes && c == '/')) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

}  // namespace packhorse

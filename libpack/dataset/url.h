#pragma once

#include <string>
#include <string_view>

namespace packhorse {

/// A place that is reached over a network: "https://host/packed/train", "s3://bucket/packed/train".
struct Url {
  std::string scheme;  ///< "http", "https" or "s3"
  std::string host;    ///< with its port, if it names one: "host:8080"; the bucket of s3
  std::string path;    ///< decoded, without slashes at its start and end: "packed/train"
  std::string query;   ///< as it is written, without the question mark; of s3 always empty

  /// For messages and reports: printable, and without the query, which may be a secret.
  std::string shown() const;
  /// The URL of something below this one: `name` is a path that only goes down (is_inner_name()).
  Url below(std::string_view name) const;
  bool operator==(const Url&) const = default;
};

/// Throws Error(kUsage) for a scheme other than those above, a user or password in it, a fragment,
/// a query of s3, an invalid host or bucket, percent signs that encode nothing, control characters,
/// parts "." or "..", and for more than 4 KiB. Messages never show the query.
Url parse_url(std::string_view text);

/// Makes any text that begins like a URL safe to show: without secrets, and not too long.
std::string harmless_url(std::string_view text);

/// RFC 3986: everything but letters, digits and "-._~" as %XX; slashes stay where `keep_slashes`.
std::string percent_encoded(std::string_view text, bool keep_slashes);

}  // namespace packhorse

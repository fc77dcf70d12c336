#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/http/client.h"
#include "storage/http/credentials.h"

namespace packhorse {

/// AWS Signature Version 4 in headers
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
struct ToSign {
  std::string method = "GET";
  std::string host;  ///< as the Host header has it
  std::string path;  ///< decoded, beginning with a slash: it is encoded once, as S3 wants it
  /// Names and values, decoded.
  std::vector<std::pair<std::string, std::string>> query = {};
  HttpHeaders headers = {};  ///< those to be signed besides host and x-amz-*
  /// SHA-256 of the body in hexadecimal digits, or "UNSIGNED-PAYLOAD".
  std::string payload_hash = "UNSIGNED-PAYLOAD";
};

/// The headers to send: `to_sign.headers`, x-amz-date, x-amz-content-sha256, x-amz-security-token
/// if there is one, and authorization. Not the host's, which the client sends.
HttpHeaders signed_headers(const ToSign& to_sign, const Credentials& credentials,
                           std::string_view region, std::string_view service,
                           std::chrono::system_clock::time_point when);

/// The query as it is signed and sent: sorted, encoded; "" when there is none.
std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace packhorse

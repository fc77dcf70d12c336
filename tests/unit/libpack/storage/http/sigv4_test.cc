#include "storage/http/sigv4.h"

#include <algorithm>

#include "base/hash.h"
#include "support/support.h"

namespace packhorse {

namespace {

/// The credentials, the time and the bucket of AWS's published examples
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr auto kMay24 = std::chrono::sys_days(std::chrono::May / 24 / 2013);

ToSign example(std::string path) {
  ToSign to_sign;
  to_sign.host = "examplebucket.s3.amazonaws.com";
  to_sign.path = std::move(path);
  to_sign.payload_hash = sha256({});
  return to_sign;
}

HttpHeaders signed_example(const ToSign& to_sign, const Credentials& credentials = kExample) {
  return signed_headers(to_sign, credentials, "us-east-1", "s3", kMay24);
}

std::string value(const HttpHeaders& headers, std::string_view name) {
  const auto at = std::find_if(headers.begin(), headers.end(),
                               [&](const auto& header) { return header.first == name; });
  return at == headers.end() ? "(none)" : at->second;
}

std::string authorization(const ToSign& to_sign, const Credentials& credentials = kExample) {
  return value(signed_example(to_sign, credentials), "authorization");
}

std::string signature(const std::string& authorization) {
  return authorization.substr(authorization.rfind('=') + 1);
}

}  // namespace

TEST_CASE("sigv4: signs AWS's example of a range") {
  ToSign to_sign = example("/test.txt");
  to_sign.headers = {{"Range", "bytes=0-9"}};
  CHECK(authorization(to_sign) ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("sigv4: signs AWS's example of an upload") {
  ToSign to_sign = example("/test$file.text");
  to_sign.method = "PUT";
  to_sign.headers = {{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                     {"Date", "Fri, 24 May 2013 00:00:00 GMT"}};
  to_sign.payload_hash = sha256(as_bytes("Welcome to Amazon S3."));
  CHECK(signature(authorization(to_sign)) ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_CASE("sigv4: signs AWS's examples of queries, in whatever order") {
  ToSign to_sign = example("/");
  to_sign.query = {{"lifecycle", ""}};
  CHECK(signature(authorization(to_sign)) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  to_sign.path = "";
  to_sign.query = {{"prefix", "J"}, {"max-keys", "2"}};
  CHECK(signature(authorization(to_sign)) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// The expected values of these two were computed from the specification by another program.
TEST_CASE("sigv4: signs keys with characters that are encoded") {
  CHECK(signature(authorization(example("/a=b+c (ü)/d e~.tar"))) ==
        "7296eec48b61633a4ebb77edf5c2129c432d662ae3dcdf2dfc46dbfeee40a9c5");
}

TEST_CASE("sigv4: signs a session token, and a query with slashes") {
  ToSign to_sign = example("/");
  to_sign.query = {{"prefix", "a/"}, {"list-type", "2"}, {"continuation-token", "x+y=="}};
  Credentials credentials = kExample;
  credentials.session_token = "AQoDYXdz/EXAMPLE+token==";
  const HttpHeaders headers = signed_example(to_sign, credentials);
  CHECK(value(headers, "x-amz-security-token") == credentials.session_token);
  CHECK(signature(value(headers, "authorization")) ==
        "0030212de884e3219b1d978b280ce63ff973aab3d47a3dfe6aa99141e5b5500a");
}

TEST_CASE("sigv4: hands back the headers to send, and not the host's") {
  ToSign to_sign = example("/test.txt");
  to_sign.headers = {{"Range", "bytes=0-9"}};
  to_sign.payload_hash = "UNSIGNED-PAYLOAD";
  const HttpHeaders headers = signed_example(to_sign);
  CHECK(headers.size() == 4);
  CHECK(value(headers, "Range") == "bytes=0-9");
  CHECK(value(headers, "x-amz-date") == "20130524T000000Z");
  CHECK(value(headers, "x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
  CHECK(value(headers, "host") == "(none)");
}

TEST_CASE("sigv4: white space in headers is signed as one space, and not at their ends") {
  ToSign plain = example("/a"), spaced = plain;
  plain.headers = {{"x-amz-meta-a", "b c"}};
  spaced.headers = {{"X-Amz-Meta-A", "  b \t c "}};
  CHECK(authorization(plain) == authorization(spaced));
}

TEST_CASE("sigv4: a key that was kept is not used for another secret, region, service or day") {
  const ToSign to_sign = example("/test.txt");
  const auto by = [&](const char* secret, const char* region, const char* service, int day) {
    const Credentials credentials{"A", secret, ""};
    return signature(value(
        signed_headers(to_sign, credentials, region, service, kMay24 + std::chrono::days(day)),
        "authorization"));
  };
  const std::string first = by("x", "a", "s3", 0);
  std::vector<std::string> all = {first, by("y", "a", "s3", 0), by("x", "b", "s3", 0),
                                  by("x", "a", "sts", 0), by("x", "a", "s3", 1)};
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(by("x", "a", "s3", 0) == first);  // derived anew: more than four came between
}

TEST_CASE("sigv4: a query is sorted after it is encoded") {
  CHECK(canonical_query({}).empty());
  CHECK(canonical_query({{"prefix", "a/b c"}, {"list-type", "2"}, {"uploads", ""}}) ==
        "list-type=2&prefix=a%2Fb%20c&uploads=");
  CHECK(canonical_query({{"b", "2"}, {"a", "~"}, {"a", "+"}, {"a b", "ü"}}) ==
        "a=%2B&a=~&a%20b=%C3%BC&b=2");
}

}  // namespace packhorse

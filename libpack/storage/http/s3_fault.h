#pragma once

#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

namespace packhorse {

/// What S3 says of a request it refuses
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
struct S3Fault {
  std::string code;     ///< "NoSuchKey"; empty where the body is none of S3's
  std::string message;  ///< in the server's words, printable, 200 bytes at most
};

/// Reads the body of an answer, of which up to 64 KiB are looked at. Never throws for its content.
S3Fault parse_s3_fault(Bytes body);

/// What a code means, in our words.
struct S3FaultMeaning {
  std::string_view code;
  ErrorKind kind;
  std::string_view what, advice;
  enum class Then { kStop, kRepeat, kRenew } then = Then::kStop;
};
/// nullptr for a code that is not known.
const S3FaultMeaning* meaning_of_s3_fault(std::string_view code);

}  // namespace packhorse

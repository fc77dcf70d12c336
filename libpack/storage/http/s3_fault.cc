#include "storage/http/s3_fault.h"

#include <algorithm>
#include <array>
#include <pugixml.hpp>

#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostFaultBody = 64u << 10;
constexpr std::size_t kMostFaultText = 200;

using Then = S3FaultMeaning::Then;
constexpr std::string_view kOtherRegion =
    "name the bucket's region in AWS_REGION, and its endpoint if it is not AWS's";
constexpr std::string_view kTryLater = "try again later";

constexpr std::array kMeanings = {
    S3FaultMeaning{"NoSuchKey", ErrorKind::kNotFound, "there is no such object", "check the name"},
    S3FaultMeaning{"NoSuchBucket", ErrorKind::kNotFound, "there is no such bucket",
                   "check the bucket's name, and the endpoint (AWS_ENDPOINT_URL_S3)"},
    S3FaultMeaning{
        "AccessDenied", ErrorKind::kIo, "access is denied",
        "the credentials need s3:GetObject and s3:ListBucket, and s3:PutObject to write; "
        "public buckets may want requests without a signature"},
    S3FaultMeaning{"InvalidAccessKeyId", ErrorKind::kIo, "the access key is not known there",
                   "check the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE), and the endpoint"},
    S3FaultMeaning{"SignatureDoesNotMatch", ErrorKind::kIo, "the signature is wrong",
                   "check the secret key; a proxy that changes requests spoils it, too"},
    S3FaultMeaning{"RequestTimeTooSkewed", ErrorKind::kIo,
                   "this machine's clock and the server's differ by more than 15 minutes",
                   "set the clock"},
    S3FaultMeaning{"ExpiredToken", ErrorKind::kIo, "the credentials have expired",
                   "get new ones, for example by signing in again", Then::kRenew},
    S3FaultMeaning{"TokenRefreshRequired", ErrorKind::kIo, "the credentials must be renewed",
                   "get new ones, for example by signing in again", Then::kRenew},
    S3FaultMeaning{"InvalidToken", ErrorKind::kIo, "the session token is not valid",
                   "check AWS_SESSION_TOKEN: it belongs to its access key"},
    S3FaultMeaning{"PermanentRedirect", ErrorKind::kIo, "the bucket is elsewhere", kOtherRegion},
    S3FaultMeaning{"AuthorizationHeaderMalformed", ErrorKind::kIo, "the bucket is elsewhere",
                   kOtherRegion},
    S3FaultMeaning{"IllegalLocationConstraintException", ErrorKind::kIo, "the bucket is elsewhere",
                   kOtherRegion},
    S3FaultMeaning{"InvalidObjectState", ErrorKind::kIo, "the object is archived",
                   "restore it in the storage first"},
    S3FaultMeaning{"PreconditionFailed", ErrorKind::kCorrupt,
                   "the object is not the one that it was at first", "open the dataset again"},
    S3FaultMeaning{"InvalidRange", ErrorKind::kCorrupt, "the object is shorter than it should be",
                   "upload the dataset again"},
    S3FaultMeaning{"SlowDown", ErrorKind::kIo, "there are too many requests", kTryLater,
                   Then::kRepeat},
    S3FaultMeaning{"ServiceUnavailable", ErrorKind::kIo, "the storage is not available", kTryLater,
                   Then::kRepeat},
    S3FaultMeaning{"InternalError", ErrorKind::kIo, "the storage has a fault", kTryLater,
                   Then::kRepeat},
    S3FaultMeaning{"RequestTimeout", ErrorKind::kIo, "the request took too long to arrive",
                   kTryLater, Then::kRepeat},
};

/// A text that is safe to show, of at most kMostFaultText bytes.
std::string shown_text(std::string_view text) {
  const bool cut = text.size() > kMostFaultText;
  return printable_text(text.substr(0, kMostFaultText)) + (cut ? "..." : "");
}

}  // namespace

S3Fault parse_s3_fault(Bytes body) {
  const Bytes seen = body.first(std::min(body.size(), kMostFaultBody));
  pugi::xml_document document;
  if (seen.empty() || !document.load_buffer(seen.data(), seen.size())) return {};
  const pugi::xml_node error = document.child("Error");
  return {shown_text(error.child("Code").text().get()),
          shown_text(error.child("Message").text().get())};
}

const S3FaultMeaning* meaning_of_s3_fault(std::string_view code) {
  const auto found =
      std::find_if(kMeanings.begin(), kMeanings.end(),
                   [&](const S3FaultMeaning& meaning) { return meaning.code == code; });
  return found == kMeanings.end() ? nullptr : &*found;
}

}  // namespace packhorse

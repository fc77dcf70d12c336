#include "storage/http/s3_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kLeastPart = 8 * kMiB;
constexpr std::uint64_t kMostParts = 10'000;
constexpr std::size_t kMostId = 4096;  // bytes

}  // namespace

std::uint64_t part_bytes(std::uint64_t bytes) {
  const std::uint64_t needed = bytes / kMostParts + 1;
  return std::max(kLeastPart, (needed + kMiB - 1) / kMiB * kMiB);
}

std::string parse_upload_id(Bytes xml, const std::string& shown) {
  pugi::xml_document document;
  std::string id;
  if (document.load_buffer(xml.data(), xml.size()))
    id = document.child("InitiateMultipartUploadResult").child("UploadId").text().get();
  if (!id.empty() && id.size() <= kMostId) return id;
  throw Error(ErrorKind::kCorrupt, "the storage does not say how the upload is called", shown,
              "check that the endpoint is one of S3 (AWS_ENDPOINT_URL_S3)");
}

BegunUploads parse_uploads(Bytes xml) {
  pugi::xml_document document;
  BegunUploads page;
  if (!document.load_buffer(xml.data(), xml.size())) return page;
  const pugi::xml_node list = document.child("ListMultipartUploadsResult");
  for (const pugi::xml_node& node : list.children("Upload")) {
    std::string id = node.child("UploadId").text().get();
    if (!id.empty() && id.size() <= kMostId)
      page.uploads.push_back({node.child("Key").text().get(), std::move(id)});
  }
  if (list.child("IsTruncated").text().as_bool()) {
    page.next_key = list.child("NextKeyMarker").text().get();
    page.next_id = list.child("NextUploadIdMarker").text().get();
  }
  return page;
}

std::string completion_text(std::span<const std::string> tags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text() = static_cast<unsigned>(i + 1);
    part.append_child("ETag").text() = tags[i].c_str();
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

namespace {

[[noreturn]] void refuse_page(const std::string& what, const std::string& shown) {
  throw Error(ErrorKind::kCorrupt, "the storage's list of objects " + what, shown,
              "check that the endpoint is one of S3 (AWS_ENDPOINT_URL_S3)");
}

}  // namespace

ListPage parse_list_page(Bytes xml, const std::string& prefix, const std::string& shown) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) refuse_page("is not valid XML", shown);
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) refuse_page("is something else", shown);
  ListPage page;
  for (const pugi::xml_node& node : root.children("Contents")) {
    ListedObject object;
    object.name = node.child("Key").text().get();
    object.tag = node.child("ETag").text().get();
    if (!object.tag.empty() && object.tag.find('"') == std::string::npos)
      object.tag = '"' + object.tag + '"';  // as headers have it
    const auto size = parse_number<std::uint64_t>(node.child("Size").text().get());
    if (!size) refuse_page("has an object without a size", shown);
    object.bytes = *size;
    if (!object.name.starts_with(prefix)) refuse_page("has objects not asked for", shown);
    if (!object.name.ends_with('/')) page.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node& node : root.children("CommonPrefixes")) {
    std::string folder = node.child("Prefix").text().get();
    if (!folder.starts_with(prefix) || !folder.ends_with('/'))
      refuse_page("has folders not asked for", shown);
    page.folders.push_back(std::move(folder));
  }
  if (std::string_view(root.child("IsTruncated").text().get()) == "true") {
    page.next = root.child("NextContinuationToken").text().get();
    if (page.next.empty()) refuse_page("is cut", shown);
  }
  return page;
}

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
        "public buckets may want `sign=false`"},
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
  const auto found = std::ranges::find(kMeanings, code, &S3FaultMeaning::code);
  return found == kMeanings.end() ? nullptr : &*found;
}

}  // namespace packhorse

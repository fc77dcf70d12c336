#include "storage/http/s3_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

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

}  // namespace packhorse

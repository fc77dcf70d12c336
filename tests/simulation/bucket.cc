#include "simulation/bucket.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <set>

#include "base/hash.h"
#include "packhorse/base/bytes.h"

namespace packhorse::simulation {

namespace {

Answer fault(int status, const std::string& code) {
  return {status, {}, fmt::format("<Error><Code>{}</Code></Error>", code)};
}

std::string value_of(const std::map<std::string, std::string>& of, const std::string& name) {
  const auto found = of.find(name);
  return found == of.end() ? "" : found->second;
}

std::string tag_of(const std::string& content) {
  return '"' + sha256(as_bytes(content)).substr(0, 32) + '"';
}

bool only_if_new(const Request& request) {
  return value_of(request.headers, "if-none-match") == "*";
}

}  // namespace

std::string Request::text() const {
  std::string all = method + " " + path;
  for (const auto& [name, value] : query)
    all += (value.empty() ? " " + name : " " + name + "=" + value);
  if (headers.contains("range")) all += " " + headers.at("range");
  if (!body.empty()) all += fmt::format(" ({} bytes)", body.size());
  return all;
}

Answer Bucket::take(const Request& request) {
  const std::string named = value_of(request.headers, "x-amz-content-sha256");
  if (!request.body.empty() && named != sha256(as_bytes(request.body)))
    return fault(400, "XAmzContentSHA256Mismatch");
  const std::size_t slash = request.path.find('/', 1);
  const std::string key = slash == std::string::npos ? "" : request.path.substr(slash + 1);
  if (key.empty() && request.query.contains("uploads")) return list_uploads(request);
  if (key.empty()) return list(request);
  if (request.method == "GET" || request.method == "HEAD") return get(request, key);
  return change(request, key);
}

Answer Bucket::change(const Request& request, const std::string& key) {
  ++changes_;
  const bool of_upload = request.query.contains("uploadId");
  if (request.method == "PUT") return of_upload ? put_part(request, key) : put(request, key);
  if (request.method == "POST")
    return of_upload ? complete(request, key) : begin_upload(request, key);
  if (of_upload)
    return uploads_.erase(request.query.at("uploadId")) > 0 ? Answer{204}
                                                            : fault(404, "NoSuchUpload");
  objects_.erase(key);
  return {204};
}

void Bucket::store(const std::string& key, Object object) {
  if (!objects_.emplace(key, object).second) {
    replaced_ = key;
    objects_[key] = std::move(object);
  }
}

Answer Bucket::put(const Request& request, const std::string& key) {
  if (only_if_new(request) && objects_.contains(key)) return fault(412, "PreconditionFailed");
  store(key, {request.body, value_of(request.headers, "x-amz-meta-sha256")});
  return {200, {{"etag", tag_of(request.body)}}};
}

Answer Bucket::begin_upload(const Request& request, const std::string& key) {
  const std::string id = fmt::format("upload-{}", ++begun_);
  uploads_[id] = {key, value_of(request.headers, "x-amz-meta-sha256"), {}};
  return {
      200,
      {},
      fmt::format(
          "<InitiateMultipartUploadResult><UploadId>{}</UploadId></InitiateMultipartUploadResult>",
          id)};
}

Answer Bucket::put_part(const Request& request, const std::string& key) {
  const auto upload = uploads_.find(request.query.at("uploadId"));
  if (upload == uploads_.end() || upload->second.key != key) return fault(404, "NoSuchUpload");
  upload->second.parts[std::stoi(request.query.at("partNumber"))] = request.body;
  return {200, {{"etag", tag_of(request.body)}}};
}

Answer Bucket::complete(const Request& request, const std::string& key) {
  const auto upload = uploads_.find(request.query.at("uploadId"));
  if (upload == uploads_.end() || upload->second.key != key) return fault(404, "NoSuchUpload");
  pugi::xml_document document;
  if (!document.load_string(request.body.c_str())) return fault(400, "MalformedXML");
  std::string content;
  int number = 0;
  for (const pugi::xml_node& part : document.child("CompleteMultipartUpload").children("Part")) {
    const auto found = upload->second.parts.find(part.child("PartNumber").text().as_int());
    if (part.child("PartNumber").text().as_int() != ++number ||
        found == upload->second.parts.end() ||
        tag_of(found->second) != part.child("ETag").text().get())
      return fault(400, "InvalidPart");
    content += found->second;
  }
  if (number == 0) return fault(400, "MalformedXML");
  if (only_if_new(request) && objects_.contains(key)) return fault(412, "PreconditionFailed");
  store(key, {content, upload->second.sum});
  uploads_.erase(upload);
  if (ends_other_uploads)
    std::erase_if(uploads_, [&](const auto& one) { return one.second.key == key; });
  return {200, {}, "<CompleteMultipartUploadResult/>"};
}

Answer Bucket::get(const Request& request, const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return fault(404, "NoSuchKey");
  const std::string& content = found->second.content;
  const std::string tag = tag_of(content), wanted = value_of(request.headers, "if-match");
  if (!wanted.empty() && wanted != tag) return fault(412, "PreconditionFailed");
  Answer answer{200, {{"etag", tag}}, content};
  if (!found->second.sum.empty()) answer.headers["x-amz-meta-sha256"] = found->second.sum;
  unsigned long long first = 0, last = 0;
  if (std::sscanf(value_of(request.headers, "range").c_str(), "bytes=%llu-%llu", &first, &last) ==
      2) {
    if (first >= content.size()) return fault(416, "InvalidRange");
    last = std::min<unsigned long long>(last, content.size() - 1);
    answer.status = 206;
    answer.headers["content-range"] = fmt::format("bytes {}-{}/{}", first, last, content.size());
    answer.body = content.substr(first, last - first + 1);
  }
  answer.headers["content-length"] = std::to_string(answer.body.size());
  if (request.method == "HEAD") answer.body.clear();
  return answer;
}

Answer Bucket::list(const Request& request) const {
  const std::string prefix = value_of(request.query, "prefix");
  const bool folders = request.query.contains("delimiter");
  std::string text;
  std::set<std::string> joined;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t slash = key.find('/', prefix.size());
    if (folders && slash != std::string::npos) {
      joined.insert(key.substr(0, slash + 1));
      continue;
    }
    text += fmt::format("<Contents><Key>{}</Key><Size>{}</Size></Contents>", key,
                        object.content.size());
  }
  for (const std::string& folder : joined)
    text += fmt::format("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", folder);
  return {200, {}, "<ListBucketResult>" + text + "</ListBucketResult>", false};
}

Answer Bucket::list_uploads(const Request& request) const {
  std::string text;
  for (const auto& [id, upload] : uploads_) {
    if (upload.key.starts_with(value_of(request.query, "prefix")))
      text += fmt::format("<Upload><Key>{}</Key><UploadId>{}</UploadId></Upload>", upload.key, id);
  }
  return {200, {}, "<ListMultipartUploadsResult>" + text + "</ListMultipartUploadsResult>", false};
}

std::vector<std::string> Bucket::keys(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& [key, object] : objects_)
    if (key.starts_with(prefix)) found.push_back(key);
  return found;
}

std::vector<std::string> Bucket::uploads(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& [id, upload] : uploads_)
    if (upload.key.starts_with(prefix)) found.push_back(upload.key + " " + id);
  return found;
}

}  // namespace packhorse::simulation

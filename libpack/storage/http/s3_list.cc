#include "storage/http/s3_list.h"

#include <charconv>
#include <pugixml.hpp>
#include <string_view>

#include "packhorse/base/error.h"

namespace packhorse {

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
    const std::string_view size = node.child("Size").text().get();
    const auto [end, code] = std::from_chars(size.data(), size.data() + size.size(), object.bytes);
    if (size.empty() || code != std::errc() || end != size.data() + size.size())
      refuse_page("has an object without a size", shown);
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

}  // namespace packhorse

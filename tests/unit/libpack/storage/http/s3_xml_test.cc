#include "storage/http/s3_xml.h"

#include <array>

#include "support/support.h"

namespace packhorse {

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
const std::string kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";

std::string begun(const std::string& inside) {
  const std::string xml =
      "<InitiateMultipartUploadResult" + kNamespace + inside + "</InitiateMultipartUploadResult>";
  return parse_upload_id(as_bytes(xml), "s3://b/k");
}

}  // namespace

TEST_CASE("s3 upload: parts are large enough, and not too many") {
  CHECK(part_bytes(1) == 8 * kMiB);
  CHECK(part_bytes(80'000 * kMiB - 1) == 8 * kMiB);
  for (const std::uint64_t bytes : {80'000 * kMiB, 80'001 * kMiB, 5'000'000 * kMiB}) {
    const std::uint64_t part = part_bytes(bytes);
    CHECK((bytes + part - 1) / part <= 10'000);
    CHECK(part % kMiB == 0);
  }
}

TEST_CASE("s3 upload: an upload that has begun has a name") {
  CHECK(begun("<Bucket>b</Bucket><UploadId>a/b+c=&amp;</UploadId>") == "a/b+c=&");
  CHECK(test::kind_of_error([] { begun("<UploadId></UploadId>"); }) == ErrorKind::kCorrupt);
  CHECK(test::kind_of_error([] { begun("<UploadId>" + std::string(5000, 'x') + "</UploadId>"); }) ==
        ErrorKind::kCorrupt);
  CHECK(test::kind_of_error([] { parse_upload_id(as_bytes("no xml"), "s3://b/k"); }) ==
        ErrorKind::kCorrupt);
}

TEST_CASE("s3 upload: uploads that have begun are named, those without an id are not") {
  const auto upload = [](const std::string& key, const std::string& id) {
    return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId></Upload>";
  };
  const std::string xml = "<ListMultipartUploadsResult" + kNamespace + upload("k", "one") +
                          upload("k2", "other") + upload("k", "two") + upload("k", "") +
                          "</ListMultipartUploadsResult>";
  const BegunUploads page = parse_uploads(as_bytes(xml));
  CHECK(page.next_key.empty());
  const std::vector<BegunUpload>& uploads = page.uploads;
  REQUIRE(uploads.size() == 3);
  CHECK((uploads[0].key == "k" && uploads[0].id == "one"));
  CHECK((uploads[1].key == "k2" && uploads[1].id == "other"));
  CHECK((uploads[2].key == "k" && uploads[2].id == "two"));
  CHECK(parse_uploads(as_bytes("<Error/>")).uploads.empty());
  CHECK(parse_uploads(as_bytes("no xml")).uploads.empty());
}

TEST_CASE("s3 upload: tags are put into XML as text") {
  const std::array<std::string, 2> tags = {"\"one\"", "a<b&c"};
  const std::string text = completion_text(tags);
  CHECK(text.find("<Part><PartNumber>1</PartNumber><ETag>\"one\"</ETag></Part>") !=
        std::string::npos);
  CHECK(text.find("<Part><PartNumber>2</PartNumber><ETag>a&lt;b&amp;c</ETag></Part>") !=
        std::string::npos);
}

namespace {

ListPage parsed(const std::string& inside) {
  return parse_list_page(as_bytes("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "
                                  "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
                                  inside + "</ListBucketResult>"),
                         "p/", "s3://b/p");
}

std::string object(const std::string& key, const std::string& size) {
  return "<Contents><Key>" + key + "</Key><ETag>\"x\"</ETag><Size>" + size + "</Size></Contents>";
}

}  // namespace

TEST_CASE("s3 list: keys and sizes") {
  const ListPage page = parsed(object("p/a &amp; b.tar", "12") + object("p/c", "0") +
                               "<IsTruncated>false</IsTruncated>");
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].name == "p/a & b.tar");
  CHECK(page.objects[0].bytes == 12);
  CHECK(page.next.empty());
}

TEST_CASE("s3 list: a page with a next one says where it is") {
  CHECK(parsed("<IsTruncated>true</IsTruncated><NextContinuationToken>t=/+</NextContinuationToken>")
            .next == "t=/+");
  CHECK(test::kind_of_error([] { parsed("<IsTruncated>true</IsTruncated>"); }) ==
        ErrorKind::kCorrupt);
}

TEST_CASE("s3 list: what stands for a folder is left out") {
  CHECK(parsed(object("p/", "0") + object("p/x/", "0")).objects.empty());
}

TEST_CASE("s3 list: what was not asked for, sizes that are none, and other documents are refused") {
  for (const std::string& inside :
       {object("q/a", "1"), object("p/a", ""), object("p/a", "-1"), object("p/a", "1x"),
        object("", "1"), std::string("<Contents>")}) {
    CAPTURE(inside);
    CHECK(test::kind_of_error([&] { parsed(inside); }) == ErrorKind::kCorrupt);
  }
  for (const char* text : {"", "<html/>", "{}"}) {
    CHECK(test::kind_of_error([&] { parse_list_page(as_bytes(text), "", "s3://b"); }) ==
          ErrorKind::kCorrupt);
  }
}

}  // namespace packhorse

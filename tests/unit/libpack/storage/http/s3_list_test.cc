#include "storage/http/s3_list.h"

#include "support/support.h"

namespace packhorse {

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

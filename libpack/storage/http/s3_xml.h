#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"
#include "storage/object_store.h"

/// The texts of S3's uploads in parts
/// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html).
namespace packhorse {

/// The size of the parts of an object of `bytes` bytes: at least 8 MiB, and 10,000 parts at most.
std::uint64_t part_bytes(std::uint64_t bytes);

/// The name of an upload that has begun. Throws Error(kCorrupt) for what is no such answer.
std::string parse_upload_id(Bytes xml, const std::string& shown);

/// An upload that has begun and not ended.
struct BegunUpload {
  std::string key, id;
};
/// A page of their list.
struct BegunUploads {
  std::vector<BegunUpload> uploads;
  std::string next_key, next_id;  ///< behind which the next page begins; empty: there is none
};
/// None for what is no list of them, as it only serves to clear up.
BegunUploads parse_uploads(Bytes xml);

/// What completes an upload: the tags of its parts, in their order, as the storage gave them.
std::string completion_text(std::span<const std::string> tags);

/// A page of ListObjectsV2.
struct ListPage {
  std::vector<ListedObject> objects;  ///< by their whole keys
  std::vector<std::string> folders;   ///< what keys have in common up to a slash, with it
  std::string next;                   ///< the token of the next page; empty: this is the last
};

/// Parses the XML of a page. Objects whose keys end in a slash stand for folders and are left out.
/// Throws Error(kCorrupt) for what is no such page, for keys that do not begin with `prefix`, and
/// for a page that has a next one but says not where. `shown` is the place for messages.
ListPage parse_list_page(Bytes xml, const std::string& prefix, const std::string& shown);

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

#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "packhorse/storage/object_store.h"
#include "storage/http/client.h"

/// The judgement over answers, as pure functions: a server is not believed, but held to what was
/// asked for.
namespace packhorse {

/// "bytes 0-99/1000" (RFC 9110, 14.4), where neither part is "*".
struct ContentRange {
  std::uint64_t first = 0, last = 0, total = 0;
  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};
/// Nothing for what is not exactly that, and for ranges that cannot be.
std::optional<ContentRange> parse_content_range(std::string_view value);

/// The header that bears the SHA-256 of an object that ObjectStore::write() stored.
inline constexpr const char* kSha256Header = "x-amz-meta-sha256";

struct Judgement {
  std::exception_ptr error;  ///< nullptr: the answer may be taken
  bool repeat = false;       ///< the fault may go by when the same is asked again
  bool renew = false;        ///< ... with new credentials, or with a newly signed URL
};

/// Answers to requests without a range: any 2xx may be taken. `shown` is the URL for messages.
Judgement judge_answer(const HttpResponse& response, const std::string& shown);

/// Answers to a request for a range, whose body the client has held to the length asked for. Taken:
/// 206 with exactly this range of an object of this size, 200 with the same Content-Range, and 200
/// without one when the range is the whole object; and all only with the tag that the object must
/// have. Anything else in 2xx is Error(kCorrupt).
Judgement judge_range(const RangeRead& read, const HttpResponse& response,
                      const std::string& shown);

/// An object's size and tag by an answer to HEAD, or to GET of its first byte (of which 416 means
/// that it is empty). Nothing where the headers do not say.
std::optional<ObjectInfo> info_of_head(const HttpResponse& response);
std::optional<ObjectInfo> info_of_first_byte(const HttpResponse& response);

}  // namespace packhorse

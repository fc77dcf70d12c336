#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "storage/http/client.h"
#include "storage/object_store.h"

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

/// The value of Retry-After (RFC 9110, 10.2.3), seconds or a date, as the time to wait from `now`:
/// nothing for what is neither; a day at most.
std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, std::chrono::system_clock::time_point now);

/// A request's tries up to now.
struct TriesMade {
  int tries = 1;
  std::chrono::milliseconds since_first{0};
  std::optional<std::chrono::milliseconds> retry_after = {};  ///< what the server asked for
  bool reached = true;  ///< the server has answered before: its name and port are right
};

/// The pause before the next try: full jitter, a `random` share (0 to 1) of a time that doubles
/// from try to try, after what the server asked for. Nothing when there is to be no further try, by
/// the number or by the time that all may take. A server that was never reached is tried three
/// times.
std::optional<std::chrono::milliseconds> pause_before_retry(const TriesMade& made,
                                                            const StorageOptions& options,
                                                            double random);

}  // namespace packhorse

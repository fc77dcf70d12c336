#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "packhorse/storage/object_store.h"

namespace packhorse {

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

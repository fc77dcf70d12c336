#include "storage/http/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace packhorse {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100}, kLongestPause{20'000};
constexpr milliseconds kLongestRetryAfter{24 * 3600 * 1000};
constexpr std::size_t kMostRetryAfterText = 64;
constexpr int kTriesOfUnreached = 3;

}  // namespace

std::optional<milliseconds> parse_retry_after(std::string_view value,
                                              std::chrono::system_clock::time_point now) {
  if (value.empty() || value.size() > kMostRetryAfterText) return std::nullopt;
  std::chrono::seconds wait{0};
  if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc()) return kLongestRetryAfter;
    wait = std::chrono::seconds(std::min<std::int64_t>(number, kLongestRetryAfter.count()));
  } else {
    // A date begins with its day's name, "Fri, 31 Dec 1999"; libcurl takes much else for one.
    if (value.find(',') == std::string_view::npos) return std::nullopt;
    const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    constexpr std::time_t kDay = 24L * 3600;
    wait = std::chrono::seconds(
        std::clamp<std::time_t>(date - std::chrono::system_clock::to_time_t(now), 0, kDay));
  }
  return std::clamp(milliseconds(wait), milliseconds(0), kLongestRetryAfter);
}

std::optional<milliseconds> pause_before_retry(const TriesMade& made, const StorageOptions& options,
                                               double random) {
  if (made.tries > options.retries) return std::nullopt;
  if (!made.reached && made.tries >= kTriesOfUnreached) return std::nullopt;
  const int doublings = std::clamp(made.tries - 1, 0, 16);
  const milliseconds longest = std::min(kLongestPause, kFirstPause * (1 << doublings));
  const auto jitter = std::chrono::duration_cast<milliseconds>(longest * random);
  const milliseconds pause = made.retry_after.value_or(milliseconds(0)) + jitter;
  if (made.since_first + pause > options.retry_time) return std::nullopt;
  return pause;
}

}  // namespace packhorse

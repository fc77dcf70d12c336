#pragma once

namespace packhorse::codecs {

/// While it lives, what a library writes to stderr from this thread is dropped: some say there
/// what they think of a damaged file, and cannot be told not to. What other threads write gets
/// through, and so does all that is not written through C's stderr. Any thread.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace packhorse::codecs

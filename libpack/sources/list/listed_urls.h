#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/remote_files.h"
#include "sources/objects/object_reader.h"

namespace packhorse {

/// The images of a list whose paths are URLs. So that they can be treated like paths, a URL is
/// written as one: "https://host/a/b.jpg" is /https/host/a/b.jpg, with percent signs decoded.
class ListedUrls {
 public:
  /// The URL as a path. `problem` says why it is none that can be read, and is empty otherwise.
  static std::string path_of(const std::string& url, Problem& problem);

  /// Asks a storage for what lies at such a path. `problem` says so when there is nothing. Throws
  /// Error(kIo | kUsage | kUnsupported). Thread-safe.
  RemoteFile look(const std::string& path, Problem& problem);
  /// Keeps what look() has found, to be read; `row`: the row's offset in the list.
  std::uint64_t add(const std::string& path, RemoteFile object, std::uint64_t row);

  std::uint64_t row_of(std::uint64_t number) const { return rows_[number]; }
  const ObjectReader& reader() const { return reader_; }

 private:
  RemoteFiles& files_of(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RemoteFiles>, std::less<>> hosts_;  ///< under the mutex
  ObjectReader reader_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace packhorse

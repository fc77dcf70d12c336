#pragma once

#include <cstdint>
#include <vector>

#include "dataset/remote_files.h"
#include "sources/objects/fetched_ahead.h"

namespace packhorse {

/// Reads objects of storages by numbers, as a source lists them: each as a whole, as it was listed.
/// Thread-safe after the last add().
class ObjectReader {
 public:
  /// The object's number: one more than the last. `files` must outlive the reader.
  std::uint64_t add(RemoteFiles& files, RemoteFile object);
  const RemoteFile& operator[](std::uint64_t number) const { return objects_[number].object; }
  /// Fetches an object that will be read soon, where there is room for it.
  void prefetch(std::uint64_t number) const;
  /// Throws as RemoteFiles::read() does.
  void read(std::uint64_t number, std::vector<std::byte>& out) const;

 private:
  struct Listed {
    RemoteFiles* files;
    RemoteFile object;
  };
  static constexpr std::uint64_t kMostAhead = 256u << 20;

  std::vector<std::byte> get(std::uint64_t number) const;

  std::vector<Listed> objects_;
  mutable FetchedAhead ahead_{kMostAhead};
};

}  // namespace packhorse

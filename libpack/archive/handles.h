#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <memory>
#include <string>

#include "packhorse/base/error.h"

namespace packhorse::wds {

template <class T, auto Free>
struct Deleter {
  void operator()(T* handle) const { Free(handle); }
};
using ArchiveWriter = std::unique_ptr<archive, Deleter<archive, archive_write_free>>;
using ArchiveReader = std::unique_ptr<archive, Deleter<archive, archive_read_free>>;
using Entry = std::unique_ptr<archive_entry, Deleter<archive_entry, archive_entry_free>>;

inline std::string message_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text != nullptr ? text : "unknown error";
}

}  // namespace packhorse::wds

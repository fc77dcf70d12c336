#pragma once

#include <hdf5.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse::hdf5 {

/// HDF5 may be built without thread safety, so every use of it holds this lock. Meanwhile, HDF5
/// prints no errors to stderr.
class Session {
 public:
  Session() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    errno = 0;  // so that a full disk can be told from other failures
  }
  ~Session() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex instance;
    return instance;
  }
  std::scoped_lock<std::recursive_mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Errors that the system's own words describe better: a full disk, a quota, the limit on file
/// sizes.
inline bool is_want_of_room(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

/// Owns an HDF5 identifier; a negative one (HDF5's failure) throws on construction.
template <auto Close>
class Hid {
 public:
  Hid(hid_t id, const char* doing, const std::filesystem::path& path) : id_(id) {
    if (id < 0 && is_want_of_room(errno)) throw_errno(doing, path);
    if (id < 0) throw Error(ErrorKind::kCorrupt, std::string("HDF5 cannot ") + doing, path);
  }
  ~Hid() {
    if (id_ >= 0) Close(id_);
  }
  Hid(Hid&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hid& operator=(Hid&&) = delete;
  hid_t get() const { return id_; }

 private:
  hid_t id_;
};
using File = Hid<H5Fclose>;
using Group = Hid<H5Gclose>;
using Dataset = Hid<H5Dclose>;
using Space = Hid<H5Sclose>;
using Type = Hid<H5Tclose>;
using Attribute = Hid<H5Aclose>;
using Properties = Hid<H5Pclose>;

inline void check(herr_t code, const char* doing, const std::filesystem::path& path) {
  if (code < 0 && is_want_of_room(errno)) throw_errno(doing, path);
  if (code < 0) throw Error(ErrorKind::kIo, std::string("HDF5 cannot ") + doing, path);
}

}  // namespace packhorse::hdf5

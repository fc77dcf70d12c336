#include <array>

#include "formats/hdf5/hdf5.h"
#include "formats/lmdb/lmdb.h"
#include "formats/wds/wds.h"
#include "packhorse/base/error.h"
#include "packhorse/formats/format.h"

namespace packhorse {

std::span<const Format* const> all_formats() {
  static constexpr std::array<const Format*, 4> kFormats = {&wds::kFormat, &lmdb::kDatumFormat,
                                                            &lmdb::kMembersFormat, &hdf5::kFormat};
  return kFormats;
}

std::span<const Format* const> foreign_formats() {
  static constexpr std::array<const Format*, 3> kFormats = {
      &wds::kForeignFormat, &lmdb::kForeignFormat, &hdf5::kForeignFormat};
  return kFormats;
}

const Format& find_format(std::string_view name) {
  for (const Format* format : foreign_formats()) {
    if (format->name == name) return *format;
  }
  std::string names;
  for (const Format* format : all_formats()) {
    if (format->name == name) return *format;
    names += (names.empty() ? "" : ", ") + std::string(format->name);
  }
  throw Error(ErrorKind::kUsage, "there is no format '" + std::string(name) + "'", {},
              "choose one of: " + names);
}

}  // namespace packhorse

#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// What lies at a URL. Not a line of all_sources(): a URL is told from a path before any kind is
/// asked.
namespace objects {

/// A packed dataset, an archive, or class folders of objects in a bucket. `named` is a name of
/// all_sources(), or empty. Throws as open_source() does, and as open_remote().
std::unique_ptr<Source> open(const std::filesystem::path& url, std::string_view named);

}  // namespace objects

}  // namespace packhorse

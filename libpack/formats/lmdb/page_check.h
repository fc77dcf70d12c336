#pragma once

#include <filesystem>

namespace packhorse::lmdb {

/// Walks the tree of a database that others made, before LMDB's library does. The library trusts
/// the numbers in its pages: a page number that leads out of the file, a node that leaves its page,
/// or a page that is its own child would crash the process. pages.h draws the pages; here they may
/// have any size that LMDB takes.
///
/// Throws Error(kCorrupt) for any of these and for keys that are not strictly increasing;
/// Error(kUnsupported) for several values per key, named databases, and other orders of keys.
void check_pages(const std::filesystem::path& path);

}  // namespace packhorse::lmdb

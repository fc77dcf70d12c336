#pragma once

#include <filesystem>

namespace packhorse::lmdb {

/// Walks the tree of a database that others made, before LMDB's library does: the library trusts
/// the numbers in its pages, so that one page number that leads out of the file, one node that
/// leaves its page, or a page that is its own child would take the process down with it.
///
///     page    | number 8 | pad 2 | flags 2 | lower 2, upper 2, or pages 4 | node offsets 2 each |
///     node    | low 2 | high 2 | flags 2 | key size 2 | key | value, or the number of its page 8 |
///     meta    page header | magic 4 | version 4 | address 8 | map size 8 | tree | tree | last page
///     8
///             | transaction 8 |                                       of free pages, of the data
///     tree    | pad 4 | flags 2 | depth 2 | branch, leaf, overflow pages, entries 8 each | root 8
///     |
///
/// Source: lmdb/libraries/liblmdb/mdb.c of LMDB 0.9, "Page Format" and "struct MDB_meta".
///
/// Throws Error(kCorrupt) for any of these, or keys that are not strictly increasing;
/// Error(kUnsupported) for several values a key, named databases, and other orders of keys.
void check_pages(const std::filesystem::path& path);

}  // namespace packhorse::lmdb

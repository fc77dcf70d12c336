#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

/// LMDB's own file, data version 1, as 64-bit little-endian machines have it (source: mdb.c of LMDB
/// 0.9, which also reads it back in the tests). Pages of 4096 bytes, whatever the machine's are:
///
///     page 0, 1    meta pages: the one with the larger transaction number counts
///     page 2 ...   overflow pages, each a value of its own; leaf pages; branch pages
///
/// Every page begins with 16 bytes; a value on overflow pages has one such head for all of them:
///
///     0   u64  page number
///     8   u16  0
///     10  u16  kind of page
///     12  u16  lower: where the node pointers end     or, of overflow pages,
///     14  u16  upper: where the nodes begin           u32  how many they are
///
/// Node pointers, u16 each, follow in the order of keys; nodes are packed from the page's end
/// downwards, each an even number of bytes:
///
///     leaf     u32 value size, u16 flags, u16 key size, key, then the value or, when it is on
///              overflow pages, the number of the first
///     branch   u48 page number of the child, u16 key size, key: the first of the child's, and none
///              for the first child
///
/// and a meta page is
///
///     16  u32  magic      20  u32  version     24  u64  0         32  u64  size of the map
///     40  database of free pages              88  main database
///     136  u64  last page  144  u64  transaction
///
/// where a database is u32 pad (the page size, of the first), u16 flags, u16 depth, and u64 numbers
/// of branch, leaf and overflow pages, of entries, and the page of the root.
namespace packhorse::lmdb {

static_assert(std::endian::native == std::endian::little,
              "pages are written as they are in memory");

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kPageHead = 16;
inline constexpr std::size_t kNodeHead = 8;
inline constexpr std::size_t kMetaPages = 2;
inline constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
inline constexpr std::uint64_t kMaxValueBytes = 0xffffffff;
inline constexpr std::size_t kMaxKeyBytes = 511;
/// A page has room for two nodes at least; a larger value goes to pages of its own.
inline constexpr std::size_t kMaxNodeBytes = ((kPageBytes - kPageHead) / 2 & ~std::size_t{1}) - 2;

inline constexpr std::uint16_t kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04,
                               kMetaPage = 0x08;
inline constexpr std::uint16_t kValueOnOverflowPages = 0x01;
inline constexpr std::uint16_t kIntegerKeys = 0x08;  ///< flag of the database of free pages
inline constexpr std::uint32_t kMagic = 0xBEEFC0DE, kDataVersion = 1;

inline constexpr std::size_t kMetaMagic = 16, kMetaVersion = 20, kMetaMapSize = 32, kMetaFree = 40,
                             kMetaMain = 88, kMetaLastPage = 136, kMetaTransaction = 144;
inline constexpr std::size_t kDbPad = 0, kDbFlags = 4, kDbDepth = 6, kDbBranchPages = 8,
                             kDbLeafPages = 16, kDbOverflowPages = 24, kDbEntries = 32,
                             kDbRoot = 40;

}  // namespace packhorse::lmdb

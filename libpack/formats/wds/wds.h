#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "dataset/shard_index.h"
#include "formats/foreign_shard.h"
#include "formats/format.h"
#include "packhorse/base/bytes.h"

namespace packhorse::wds {

/// WebDataset: plain tar, the members of a sample side by side. layout.h draws it.
extern const Format kFormat;
/// WebDataset of any writer, to be adopted.
extern const ForeignFormat kForeignFormat;

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec);
std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path);

/// Indexes of tar shards for other people's readers:
///
///     shard-000000.idx   DALI's readers.webdataset; NVIDIA/DALI tools/wds2idx.py
///     wids.json          wids.ShardListDataset; webdataset's wids/wids_index.py
///     _info.json         timm's ReaderWds; timm/data/readers/reader_wds.py
extern const ExportedIndexes kExportedIndexes;

/// A member's name, as it is in the tar, and where its data lie in the file.
using VisitMember = std::function<void(std::string_view name, ByteRange data)>;

/// Visits the members of a shard that our writer has written, in stored order, from its index
/// alone: layout.h says where those lie that the index does not name. Not for compressed shards.
void visit_members_by_index(const ShardIndex& index, const VisitMember& visit);

/// Visits the regular files of any plain tar that is open, from its headers; large payloads are
/// passed over unread. Throws Error(kCorrupt) for a damaged tar, Error(kUnsupported) for a member
/// whose data do not lie in one piece.
void visit_members_by_headers(int fd, const std::filesystem::path& tar, const VisitMember& visit);

}  // namespace packhorse::wds

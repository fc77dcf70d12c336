#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/dataset/shard_index.h"

namespace packhorse::wds {

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

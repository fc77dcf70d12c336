#include "archive/archive_walk.h"
#include "archive/tar_header.h"
#include "base/file.h"
#include "dataset/shard_index.h"
#include "formats/wds/layout.h"
#include "formats/wds/wds.h"
#include "image/npy.h"
#include "packhorse/base/error.h"

namespace packhorse::wds {

namespace {

/// Where the next member's data begin, after data that end at `end`.
std::uint64_t next_data(std::uint64_t end) {
  return (end + kTarBlock - 1) / kTarBlock * kTarBlock + kTarBlock;
}

}  // namespace

void visit_members_by_index(const ShardIndex& index, const VisitMember& visit) {
  for (std::size_t row = 0; row < index.size(); ++row) {
    const std::string key(index.key(row));
    const ImageKind kind = index.image(row).kind;
    ByteRange image = index.range(row);
    if (kind == ImageKind::kRaw) {  // the index names the pixels, the member is a NumPy file
      image.offset -= kNpyHeaderBytes;
      image.length += kNpyHeaderBytes;
    }
    visit(key + std::string(extension_of(kind)), image);
    const std::uint64_t label_bytes = std::to_string(index.label(row)).size();
    visit(key + std::string(kLabelExtension), {next_data(image.end()), label_bytes});
    for (std::size_t field = 0; field < index.fields().size(); ++field) {
      if (index.has_field(row, field))
        visit(key + "." + index.fields()[field], index.field_range(row, field));
    }
  }
}

void visit_members_by_headers(int fd, const std::filesystem::path& tar, const VisitMember& visit) {
  const auto walk = walk_tar(read_range(fd, {0, file_size(fd, tar)}, tar), tar, /*insist=*/true);
  Member member;
  while (walk->next(member)) {
    if (member.type != Member::Type::kFile) continue;
    if (!member.problem.empty()) {
      throw Error(ErrorKind::kUnsupported,
                  "a member cannot be read by its offset: it is " + member.problem, tar,
                  "rewrite the tar without such members", member.name);
    }
    visit(member.name, {walk->data_offset(), member.size});
  }
}

}  // namespace packhorse::wds

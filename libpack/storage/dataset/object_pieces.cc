#include "storage/dataset/object_pieces.h"

#include <algorithm>
#include <span>

#include "packhorse/base/error.h"

namespace packhorse {

std::vector<std::byte> read_in_pieces(ObjectStore& store, const std::string& name, ByteRange range,
                                      std::uint64_t of_bytes, const std::string& tag) {
  if (range.length > kMostInMemory) {
    throw Error(ErrorKind::kRejected,
                "it is said to have " + std::to_string(range.length) +
                    " bytes, and no file of a sample has more than 4 GiB",
                store.place().below(name).shown(), "do not trust this storage");
  }
  std::vector<std::byte> content;
  while (content.size() < range.length) {
    const std::uint64_t at = content.size();
    const std::uint64_t bytes = std::min(range.length - at, kPieceInMemory);
    content.resize(at + bytes);
    store.read_range({.name = name,
                      .range = {range.offset + at, bytes},
                      .of_bytes = of_bytes,
                      .tag = tag,
                      .into = std::span(content).subspan(at)});
  }
  return content;
}

}  // namespace packhorse

#include "sources/objects/object_reader.h"

#include <utility>

namespace packhorse {

std::uint64_t ObjectReader::add(RemoteFiles& files, RemoteFile object) {
  objects_.push_back({&files, std::move(object)});
  return objects_.size() - 1;
}

std::vector<std::byte> ObjectReader::get(std::uint64_t number) const {
  const Listed& listed = objects_[number];
  return listed.files->read(listed.object);
}

void ObjectReader::prefetch(std::uint64_t number) const {
  ahead_.fetch(number, objects_[number].object.bytes, [&] { return get(number); });
}

void ObjectReader::read(std::uint64_t number, std::vector<std::byte>& out) const {
  if (!ahead_.take(number, out)) out = get(number);
}

}  // namespace packhorse

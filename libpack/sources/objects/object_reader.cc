#include "sources/objects/object_reader.h"

#include <utility>

namespace packhorse {

std::uint64_t ObjectReader::add(RemoteFiles& files, RemoteFile object) {
  objects_.push_back({&files, std::move(object)});
  return objects_.size() - 1;
}

std::string ObjectReader::get(std::uint64_t number) const {
  const Listed& listed = objects_[number];
  return listed.files->read(listed.object);
}

void ObjectReader::prefetch(std::uint64_t number) const {
  ahead_.fetch(number, objects_[number].object.bytes, [&] { return get(number); });
}

void ObjectReader::read(std::uint64_t number, std::vector<std::byte>& out) const {
  std::string content;
  if (!ahead_.take(number, content)) content = get(number);
  const Bytes bytes = as_bytes(content);
  out.assign(bytes.begin(), bytes.end());
}

}  // namespace packhorse

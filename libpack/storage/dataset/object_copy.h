#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "packhorse/dataset/remote_files.h"
#include "packhorse/storage/object_store.h"

namespace packhorse {

/// Fills `into` with a whole object, several ranges at a time. All of them are of one object: where
/// the storage has tags, they are those that it had at the begin. `make_room` and `take` as in
/// RemoteFiles::copy(). Throws what the store throws, Error(kCorrupt) when the object is not as
/// large as `into`, and Error(kInterrupted).
void copy_object(ObjectStore& store, const std::string& name, std::span<std::byte> into,
                 const RoomMaker& make_room, const std::function<void(Bytes)>& take,
                 const std::stop_token& stop);

}  // namespace packhorse

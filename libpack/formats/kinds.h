#pragma once

#include <memory>

#include "formats/foreign_shard.h"

/// The formats of registry.cc that other files of libpack/formats need; formats/wds/wds.h has the
/// rest.

namespace packhorse::hdf5 {

/// HDF5 with flat bytes and offsets. layout.h draws it.
extern const Format kFormat;
/// HDF5 of any writer, to be adopted. foreign_layout.h draws what is accepted.
extern const ForeignFormat kForeignFormat;

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec);
std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path);

}  // namespace packhorse::hdf5

namespace packhorse::lmdb {

/// LMDB with Caffe Datum values, and with one value per member. layout.h draws both.
extern const Format kDatumFormat;
extern const Format kMembersFormat;
/// LMDB of any writer, to be adopted. foreign.h draws what is accepted.
extern const ForeignFormat kForeignFormat;

}  // namespace packhorse::lmdb

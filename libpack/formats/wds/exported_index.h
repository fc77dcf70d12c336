#pragma once

#include "packhorse/formats/format.h"

namespace packhorse::wds {

/// Indexes of tar shards for other people's readers:
///
///     shard-000000.idx   DALI's readers.webdataset; NVIDIA/DALI tools/wds2idx.py
///     wids.json          wids.ShardListDataset; webdataset's wids/wids_index.py
///     _info.json         timm's ReaderWds; timm/data/readers/reader_wds.py
extern const ExportedIndexes kExportedIndexes;

}  // namespace packhorse::wds

#pragma once

#include <memory>

#include "formats/foreign_shard.h"
#include "formats/lmdb/foreign_database.h"

/// The databases made by others that are accepted, told apart by their first entries:
///
///     datum     any key                               Caffe Datum: encoded image, label
///     values    any key                               the image itself; no label
///     pairs     image-000000001, label-000000001      image; label as text; num-samples
///     members   KEY.jpg, KEY.cls, KEY.json            as the members of a WebDataset tar
///
/// Keys like __len__ and num-samples describe the database and are no samples. Values that can only
/// be opened by executing them (pickles) are never opened.
namespace packhorse::lmdb {

/// A pickle, or what pyarrow's serialize() made of one, by its first and last bytes.
bool is_pickled(Bytes value);

/// Whether a key describes the database; such keys are skipped.
bool is_meta_key(std::string_view key);
inline constexpr std::string_view kMetaRule = "about the database (its key says so)";

inline constexpr std::size_t kLargestLabel = 4096;  ///< bytes of a label's text

enum class Layout { kDatum, kValues, kPairs, kMembers };

/// Which layout a database has. Throws Error(kUnsupported) when it has none, or its values are
/// pickled.
Layout layout_of(ForeignDatabase& database);

/// Opens a database with one value per sample: kDatum, kValues or kPairs.
std::unique_ptr<ForeignShard> open_values(std::unique_ptr<ForeignDatabase> database, Layout layout);
std::unique_ptr<ForeignShard> open_members(std::unique_ptr<ForeignDatabase> database,
                                           const FieldChoice& choice);

}  // namespace packhorse::lmdb

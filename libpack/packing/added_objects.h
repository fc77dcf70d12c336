#pragma once

#include <cstddef>
#include <vector>

#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/packing/dataset_writer.h"

namespace packhorse {

/// How the manifest describes the objects that are added. Throws Error(kUsage) for names that
/// cannot be.
std::vector<TargetRecord> record_of(const ObjectNames& names);

/// The field that holds the objects of a sample whose image is `image`, as stored. Throws
/// Error(kUsage), with the sample's key, for objects that cannot be right, by their numbers.
std::vector<std::byte> encode_added(const NewSample& sample, const ImageInfo& image,
                                    const ObjectNames& names);

}  // namespace packhorse

#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Arrays of pixels with an array of labels for each: a .npz, or a folder of .npy and .npz files.
/// Each image is read as a PNG of the same pixels.
namespace arrays {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace arrays

inline constexpr SourceKind kArraysSource = {
    "arrays", "arrays of pixels and labels (.npz, or a folder of .npy and .npz files)",
    arrays::probe, arrays::open};

}  // namespace packhorse

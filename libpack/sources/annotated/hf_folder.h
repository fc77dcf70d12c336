#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Folders of images with Hugging Face's `metadata.jsonl` that says which objects are in them: one
/// in the folder of each split, or one for all.
namespace hf {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// Throws Error(kUsage), with the readings, where there are labels of the images, too.
void refuse_labels_too(const std::filesystem::path& path);
}  // namespace hf

inline constexpr SourceKind kHfSource = {
    .name = "hf",
    .summary = "a folder of images and a metadata.jsonl with objects (Hugging Face)",
    .probe = hf::probe,
    .open = hf::open,
    .has_annotation_file = true};

}  // namespace packhorse

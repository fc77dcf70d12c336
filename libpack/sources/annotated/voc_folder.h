#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// A folder of Pascal VOC: JPEGImages, Annotations with an XML file for each image, and the lists
/// of splits in ImageSets/Main; or just one folder with images and one with XML files, however they
/// are called; or XML files beside the images, in folders of splits or in none. There may be
/// folders around it alone (VOCdevkit/VOC2012).
namespace voc {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace voc

inline constexpr SourceKind kVocSource = {"voc", "a folder of Pascal VOC", voc::probe, voc::open};

}  // namespace packhorse

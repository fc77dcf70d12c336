#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace packhorse {

/// The result of unpacking: the files as they are, or a dataset with objects in a notation.
enum class UnpackAs : std::uint8_t { kFolder, kCoco, kYolo, kVoc };

inline constexpr std::array<std::pair<std::string_view, UnpackAs>, 4> kUnpackAs = {
    {{"folder", UnpackAs::kFolder},
     {"coco", UnpackAs::kCoco},
     {"yolo", UnpackAs::kYolo},
     {"voc", UnpackAs::kVoc}}};

}  // namespace packhorse

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotations/object_builder.h"

namespace packhorse {

/// What one of Pascal VOC's annotation files says (http://host.robots.ox.ac.uk/pascal/VOC). Boxes
/// of its parts ("head", "hand") are left out.
struct VocFile {
  struct Object {
    std::string name;        ///< of its class
    AnnotatedObject object;  ///< without its label; corners as pixels' outer edges, from 0
  };
  std::string file_name;
  std::uint32_t width = 0, height = 0;  ///< 0: it does not say
  std::vector<Object> objects;
  std::vector<std::string> problems;  ///< objects that have no class or no box
  bool from_zero = false;             ///< a corner says that they count from 0
};

/// An element that says 1 where an annotation counts from 1 whatever its corners look like: of
/// packhorse alone, for boxes that begin before the image.
inline constexpr const char* kFirstPixel = "first_pixel";

/// Parses the XML: 4 MiB at most, and nothing outside of it is read. VOC's corners are the first
/// and the last pixel of a box, counted from 1. Of other makers they are edges that count from 0,
/// where `from_zero`: the box is what they say. Throws Error(kCorrupt); Error(kUnsupported) for
/// text in an encoding that is not known, or not the one that it says.
VocFile parse_voc(std::string_view xml, bool from_zero = false);

/// The image that a line of a list in ImageSets names: the line without blanks around it, and
/// without the numbers behind the name, which say whether the image shows a class ("000012 -1").
/// Empty for a line of blanks.
std::string_view voc_list_member(std::string_view line);

}  // namespace packhorse

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sources/layout/layout.h"

/// What class folders and the files in them look like, beside classes and their pictures.
namespace packhorse {

/// Names that differ in a number alone, such as images_part_1 and images_part_2: the first such
/// group, sorted. A number of more than four digits is an identifier, and says nothing; nor does
/// one without a word beside it, or after the word "class".
std::vector<std::string> numbered_parts(const std::set<std::string>& names);

/// Class folders of a root whose images have the same names, and pairwise the same proportions as
/// far as can be seen, as renderings of the same pictures have; empty when there are none. Among
/// more than four class folders, those whose images are just numbered are none.
std::vector<std::string> renderings(const SourceContents& contents, const Layout::Root& root);

/// Files in class folders that belong to others there by their names.
struct Companions {
  std::string class_folder;  ///< the path in the source of the first such folder
  std::string image, file;   ///< the names of an image and of its companion
  std::string suffix;        ///< what follows the image's stem in the companion's name: "_mask.png"
  std::uint64_t count = 0;   ///< companions with that suffix, in all class folders
};

/// The most frequent such companions: at least two, or half of the images of a class folder;
/// nothing when there are none. A file that differs in its extension alone is none if it has other
/// proportions.
std::optional<Companions> companions_in(const SourceContents& contents, const Layout& layout);

}  // namespace packhorse

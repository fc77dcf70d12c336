#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sources/layout/layout.h"

/// What class folders and the files in them look like, beside classes and their pictures.
namespace packhorse {

/// Names that differ in their numbers alone, such as images_part_1 and images_part_2, or in a
/// letter or Roman number at their ends: such a group that has at least half of the names, sorted.
/// A number of more than four digits is an identifier, and says nothing; nor does one that is the
/// whole name, or comes after the word "class".
std::vector<std::string> numbered_parts(const std::set<std::string>& names);

/// Class folders of a root of which one has half of the images by the names that another has, and
/// with the same proportions as far as can be seen, as renderings of the same pictures do; empty
/// when there are none. What all images of a folder end with is no part of their names. Where
/// the images are just numbered without a gap, folders are none if they have unlike numbers of
/// images, or if there are more than four; with gaps, if there are more than four and the gaps
/// differ. A sample of the names is compared, drawn by their hashes. Folders of numbered images are
/// none, either, if eight pairs of them surely look unlike: `unlike` is then set.
std::vector<std::string> renderings(const SourceContents& contents, const Layout::Root& root,
                                    bool* unlike = nullptr);

/// Files in class folders that belong to others there by their names.
struct Companions {
  std::string class_folder;  ///< the path in the source of the first such folder
  std::string image, file;   ///< the names of an image and of its companion
  std::string place;         ///< "{stem}_mask.png"; "" where no such pattern names all
  std::string glob;          ///< that the companions' names match: "*_mask.png"
  std::uint64_t count = 0;   ///< such companions, in all class folders
};

/// The most frequent such companions: at least two, or half of the images of a class folder;
/// nothing when there are none. A file that differs in its extension alone is none if it has other
/// proportions. Names that differ in a word, such as 1_left.png and 1_right.png, are companions if
/// there are two and the word says so ("mask"), or the pictures are stored otherwise (of one
/// channel, of 16 bits).
std::optional<Companions> companions_in(const SourceContents& contents, const Layout& layout);

}  // namespace packhorse

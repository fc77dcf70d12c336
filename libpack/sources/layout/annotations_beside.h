#pragma once

#include <string>
#include <vector>

#include "sources/layout/layout.h"

namespace packhorse {

inline constexpr const char* kCoco = "COCO";

/// What a source holds that says something of its images, and that class folders leave unread. Told
/// by the names of images and by the first bytes of files; of those only where
/// SourceContents::disk is known.
struct AnnotationsBeside {
  /// Texts named like images: at least half of the images of a class folder have one.
  struct Texts {
    std::string extension;    ///< "xml"; they have it in common
    std::string image, text;  ///< the first image, and its text: paths in the source
  };
  std::vector<Texts> texts;  ///< by extension
  /// A file about many images.
  struct File {
    std::string path;
    std::string notation;  ///< "COCO", "VIA", ...; empty where it only names images
  };
  std::vector<File> files;          ///< those nearest to the source's root first
  std::vector<std::string> tables;  ///< plain tables with a column of images
};

AnnotationsBeside annotations_beside(const Layout& layout, const SourceContents& contents);

/// Whether the options leave open where labels come from, and what is read beside images.
bool leaves_open(const ListOptions& options);

/// Adds to `layout`, before all other doubts, that the source may be one of annotated images; notes
/// tables that could give labels. Only where class folders give the labels, and
/// leaves_open().
void doubt_unread_annotations(Layout& layout, const SourceContents& contents,
                              const ListOptions& options);

/// The first bytes of a file: at most `most`; none where it cannot be read, or is no text.
std::string text_head(const std::filesystem::path& file, std::size_t most);

}  // namespace packhorse

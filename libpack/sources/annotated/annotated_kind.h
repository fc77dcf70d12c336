#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sources/kinds.h"
#include "sources/source.h"

namespace packhorse {

/// Whether a kind of source is known by its annotations. Such a kind is looked for only where
/// nothing else was asked for.
bool is_annotated(const SourceKind& kind);

/// The names of these kinds.
std::vector<std::string_view> annotated_kinds();

/// The name of the kind that a folder's annotations, or a data.yaml, make it; empty where it has
/// none, or where the options say what the source is. Throws Error(kUsage) when several fit.
std::string_view annotated_kind(const std::filesystem::path& path, const ListOptions& options,
                                FolderLook& look);

/// Folders in one, at most two levels down, that are such sources: a line for each, as advice has
/// it; none where the options say what the source is.
std::vector<std::string> annotated_folders_in(const std::filesystem::path& path,
                                              const ListOptions& options);

/// Throws Error(kUsage) for images that have texts beside them, x.txt, x.json or x.xml for x.jpg,
/// in the folder itself or in folders of splits, where there are no other folders and nothing says
/// what they are: with the command for what they look like. Other folders it passes over.
void refuse_texts_beside_images(const std::filesystem::path& source, FolderLook& look);

/// Whether a text is lines of YOLO, for some classes.
bool is_yolo_text(const std::string& text);

/// The file that names the classes of YOLO's labels, by its usual name: beside one of them, or in
/// the source.
std::optional<std::filesystem::path> yolo_class_file(const std::filesystem::path& source,
                                                     const std::filesystem::path& labels);

}  // namespace packhorse

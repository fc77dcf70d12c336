#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "packhorse/sources/source.h"
#include "sources/annotated/coco_folder.h"
#include "sources/annotated/hf_folder.h"
#include "sources/annotated/voc_folder.h"
#include "sources/annotated/yolo_source.h"

namespace packhorse {

/// Whether a kind of source is known by its annotations. Such a kind is looked for only where
/// nothing else was asked for.
bool is_annotated(const SourceKind& kind);

/// The names of these kinds.
std::vector<std::string_view> annotated_kinds();

/// The name of the kind that a folder's annotations, or a data.yaml, make it; empty where it has
/// none, or where the options say what the source is. Throws Error(kUsage) when several fit.
std::string_view annotated_kind(const std::filesystem::path& path, const ListOptions& options);

/// Folders in one, at most two levels down, that are such sources: a line for each, as advice has
/// it; none where the options say what the source is.
std::vector<std::string> annotated_folders_in(const std::filesystem::path& path,
                                              const ListOptions& options);

}  // namespace packhorse

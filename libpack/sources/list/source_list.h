#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// A list file: one row for each sample, with its path, its label and its extra fields.
namespace list_file {
bool probe(const std::filesystem::path& path);
std::unique_ptr<Source> open(const std::filesystem::path& path);
bool may_name_urls(const std::filesystem::path& path);
}  // namespace list_file

inline constexpr SourceKind kListSource = {
    "list", "a .csv, .tsv or .jsonl list of path,label[,split][,field...]", list_file::probe,
    list_file::open, list_file::may_name_urls};

}  // namespace packhorse

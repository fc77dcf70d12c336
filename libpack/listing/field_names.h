#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// How many kinds of extra fields a source may have: a bit each in EntryTable::Facts.
inline constexpr std::size_t kMaxFields = 32;

/// The names, sorted and without duplicates. Throws Error(kUsage), naming `where`, when there are
/// more than kMaxFields.
std::vector<std::string> sorted_fields(std::vector<std::string> names,
                                       const std::filesystem::path& where);

/// The same for names that do not come from a shard. Throws Error(kUsage) for one that cannot
/// follow a key in a shard member's name: letters in lower case, digits, '.', '_' and '-', no dot
/// at an end, neither "cls" nor an image's extension.
std::vector<std::string> checked_fields(std::vector<std::string> names,
                                        const std::filesystem::path& where);

/// The file of an image's field, beside the image: "a.b.jpg" has the field "json" in "a.b.json".
/// `image` may be a path.
std::string field_file(std::string_view image, std::string_view field);

/// Whether a file's name, or path, could be that of one of `fields` of some image. Such a file is
/// no image itself.
bool is_field_file(std::string_view name, const std::vector<std::string>& fields);

/// The `wanted` fields, sorted. Throws Error(kUsage) for one that is not `there`: a misspelt name
/// would lose a field silently.
std::vector<std::string> wanted_fields(const std::vector<std::string>& wanted,
                                       const std::vector<std::string>& there,
                                       const std::filesystem::path& where);

}  // namespace packhorse

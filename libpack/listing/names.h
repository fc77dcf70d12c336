#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "listing/listing.h"

/// What names mean in a tree of class folders, be it on disk or in an archive.
namespace packhorse::naming {

inline constexpr const char* kHidden = "hidden (its name starts with a dot)";
inline constexpr const char* kJunk = "left by a system or an archiver";
inline constexpr const char* kNotAnImage = "not an image, by name and first bytes";
inline constexpr const char* kFieldAlone = "a field without its image";
inline constexpr const char* kInFieldFolder = "an image in the folder of a field";
inline constexpr const char* kNotRegular = "not a regular file";
inline constexpr const char* kLeadsNowhere = "a link that leads nowhere";
inline constexpr const char* kLoop = "a link to a folder above it";
inline constexpr const char* kOutsideSplits = "outside the split folders";
inline constexpr const char* kOutsideClasses = "outside the folder of the class folders";
/// Kept in manifests, as the other rules of selection.
inline constexpr const char* kExcluded = "matches an --exclude";
inline constexpr std::size_t kMostFolders = 200;  ///< around a file
/// The most bytes of an image. A listing may claim any size, and what is planned counts them.
inline constexpr std::uint64_t kLargestImage = std::uint64_t{2} << 30;

/// Whether files are skipped by that rule wherever they lie, be it outside of all that is packed.
bool is_outside_rule(std::string_view rule);

inline bool is_hidden(std::string_view name) { return name.starts_with('.'); }

/// The rule by which a file or folder of that name is passed over with all that is in it: kHidden,
/// kJunk ("__MACOSX", "Thumbs.db", "@eaDir", ...); null when it is not.
const char* passed_over(std::string_view name);

/// The part of a path that ends with the first name in it that is passed over; empty when none is.
std::string_view passed_over_in(std::string_view path);

/// A file with such a name must be an image that can be packed or is rejected; any other file is
/// looked into and taken when its first bytes are an image's.
bool has_image_name(std::string_view name);
/// The same, or the name of an image kind that cannot be packed: the file is an input, too.
bool has_any_image_name(std::string_view name);
/// Whether it is a NumPy file, which is an image only where there is no other.
bool has_npy_name(std::string_view name);
/// Whether a file is an input by its first bytes, a NumPy file not among them.
bool has_image_bytes(Bytes head);

std::string join(std::string_view directory, std::string_view name);
/// "a/b" and "c" of "a/b/c"; "" and "c" of "c".
std::pair<std::string_view, std::string_view> directory_and_name(std::string_view path);
std::string_view directory_of(std::string_view path);
std::string_view last_name(std::string_view path);
/// "a" and "b/c" of "a/b/c"; "c" and "" of "c".
std::pair<std::string_view, std::string_view> cut_first(std::string_view path);
/// The names of the folders that a path lies in: "a" and "b" of "a/b/c".
std::vector<std::string> folders_of(std::string_view path);
/// Whether a path is that folder, or lies in it; all lie in "".
bool lies_in(std::string_view path, std::string_view folder);

/// A name as a sentence has it: 'a'.
std::string shown(std::string_view name);
/// A word as a shell takes it, in quotes where it needs them; bytes that cannot be shown are
/// escaped as bash has it: $'\xe9'.
std::string shell_word(const std::string& word);
/// The names as a sentence lists them: 'a', 'b', 'c', 'd' and 4 more.
std::string quoted(const std::vector<std::string>& names);

/// The classes of a source that holds the class folders `found`: label -> name. Throws
/// Error(kUsage) for a folder that is not among `pinned`, unless that is empty.
std::vector<std::string> class_names(const std::vector<std::string>& pinned,
                                     const std::set<std::string>& found,
                                     const std::filesystem::path& source);

/// A member's name as a relative path: without "./", doubled slashes and a slash at the end.
/// Nothing when it is absolute, has a ".." in it, or is no path at all.
std::optional<std::string> clean_path(std::string_view name);

/// Whether a folder or file lies in more than kMostFolders folders.
bool is_too_deep(std::string_view path);

/// Whether a split may have this name. Splits become folders of the dataset: letters, digits, '.',
/// '_' and '-', up to 64; not dataset.json, which makes a folder a dataset, nor README.md, its
/// card.
bool is_split_name(std::string_view name);
/// train, val and test first, in this order, then the others in byte order.
void sort_splits(std::vector<std::string>& names);

/// name -> label
std::unordered_map<std::string, std::int64_t> labels_of(const std::vector<std::string>& classes);

/// Whether there is neither an entry nor a reject.
bool is_empty(const Listing& listing);

/// Throws Error(kNotFound) when it is.
void refuse_empty(const Listing& listing, const std::filesystem::path& source,
                  const std::string& advice);

}  // namespace packhorse::naming

namespace packhorse {

/// Whether a path matches one of the globs, as for fnmatch(3): one without '/' is matched against
/// the file name, one with '/' against the path, where '*' matches '/', too.
bool matches_any(const std::vector<std::string>& globs, const std::string& path);

/// A glob that matches that text alone.
std::string as_glob(std::string_view text);

/// The images in a folder and those below it, by the endings of their names, in byte order,
/// whatever the layout. NumPy files are images where there are no others. What systems and
/// archivers leave behind is passed over, and links to folders. Throws Error(kNotFound) when there
/// are none, Error(kIo).
std::vector<std::filesystem::path> find_images(const std::filesystem::path& folder);

}  // namespace packhorse

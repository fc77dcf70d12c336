#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/labels/label_options.h"
#include "packhorse/listing/listing.h"
#include "packhorse/targets/target_options.h"

/// Where samples come from. A source lists everything once (`list`), then hands out bytes (`read`).
///
///     auto source = open_source("imagenet");
///     Listing listing = source->list({});
///     Input input;
///     source->read(listing.splits[0], 17, input);
namespace packhorse {

/// A folder of the source that is a split, or an archive that is read as a folder.
struct SplitFolder {
  std::string split;   ///< its name in the dataset
  std::string folder;  ///< its path in the source, clean
};

/// Parses "train=Training,val=Testing". A folder alone is a split of that name; "none" means no
/// folder. Throws Error(kUsage).
std::vector<SplitFolder> parse_split_folders(const std::string& text);

/// Parses "seg.png=masks" or "mask.gif=masks/{stem}_mask.gif". Throws Error(kUsage) for what names
/// no files inside the source.
FieldPlace parse_field_place(const std::string& text, bool required);

struct ListOptions {
  /// Pins labels: label = place in this list. Empty: class names in byte order.
  std::vector<std::string> classes = {};
  /// The folders that are splits, and no others; an empty list: no splits. Nothing: found by their
  /// names. Only for folders and archives of class folders.
  std::optional<std::vector<SplitFolder>> split_folders = {};
  /// Accepts class folders as classes whatever Listing::doubts says. Only for folders and archives.
  bool allow_odd_classes = false;
  /// Which of the folders around an image is its class, counted from the source, or from the
  /// folders in `split_folders`; 0: found by the layout's shape. It settles all doubts about
  /// classes.
  int classes_at = 0;
  LabelOptions labels = {};
  FieldChoice fields = {};
  /// Globs, as SelectOptions::exclude: what they match in a folder or an archive is as if it were
  /// not there, also for the layout.
  std::vector<std::string> exclude = {};
  TargetOptions targets = {};
  /// Where a source may put large unnamed scratch files; empty: the system's directory for
  /// temporary files.
  std::filesystem::path scratch = {};
  /// What the entries may take; null: as much memory as they need.
  std::shared_ptr<EntryMemory> memory = {};
  std::stop_token stop = {};  ///< ends what takes long: an archive that comes from a URL
};

/// Any thread may call any member of one source.
class Source {
 public:
  virtual ~Source() = default;
  /// Lists everything, in an order that depends only on the source's content. Called once. Throws
  /// Error(kNotFound) when there is nothing to pack, Error(kUsage) when a class is not in
  /// `options.classes`.
  virtual Listing list(const ListOptions& options) = 0;
  /// Reads entry `i` of `split` into `out`. Throws Error when the input is gone, cannot be read, or
  /// no longer has the size it was listed with.
  virtual void read(const SplitListing& split, std::size_t i, Input& out) const = 0;
  /// Reads one of its fields alone, by its place in Listing::fields; empty where it has none.
  virtual void read_field(const SplitListing& split, std::size_t i, std::size_t field,
                          std::vector<std::byte>& out) const;
  /// Asks for the bytes of entry `i` to be brought into memory soon. Never throws, and never waits
  /// long for more than the directory entry. Returns whether it makes sense to ask for other
  /// entries, too.
  virtual bool prefetch(const SplitListing&, std::size_t) const { return false; }
  /// True when the samples have keys and an order of their own, which packing keeps unless told to
  /// shuffle.
  virtual bool ordered() const { return false; }
  /// The key of entry `i` of an ordered source: strictly increasing in byte order within a split.
  virtual std::string key(const SplitListing&, std::size_t) const { return {}; }
  /// What has already been done to the images: a name from all_transforms(), and its settings.
  virtual std::string image_mode() const { return "original"; }
  virtual std::string image_settings() const { return {}; }
  /// The targets that its samples come with.
  virtual std::vector<TargetRecord> targets() const { return {}; }
  /// What says which objects are in its images, where the source has found that itself. Complete
  /// only after list(), but which splits there are files for is known before.
  virtual TargetOptions own_targets() const { return {}; }
  /// Whether the folders that images lie in are their classes, unless labels are given.
  virtual bool folders_are_classes() const { return false; }
};

class FolderLook;

/// How a kind of source is recognised and opened. all_sources() has one line for each.
struct SourceKind {
  std::string_view name;
  std::string_view summary;
  bool (*probe)(const std::filesystem::path&, FolderLook&);  ///< see is_source()
  std::unique_ptr<Source> (*open)(const std::filesystem::path&);
  /// Whether a path may be one of a source that names its inputs by URLs; null: none is.
  bool (*may_name_urls)(const std::filesystem::path&) = nullptr;
  /// Whether one file says the objects of all images, so that annotated_objects() can tell them.
  bool has_annotation_file = false;
};

std::span<const SourceKind> all_sources();

/// Whether a path is a source of that kind, as far as a look at it tells. May throw as
/// open_source().
bool is_source(const SourceKind& kind, const std::filesystem::path& path);

/// Whether listing `source` may open URLs, though it is none itself: see set_remote_opener().
bool may_name_urls(const std::filesystem::path& source);

/// Lists a source, and finds which objects are in its images where `options.targets` asks for that;
/// without labels given, its images then need no classes. Throws as Source::list(), and as reading
/// the annotations does.
Listing list_source(Source& source, const ListOptions& options);

/// The objects in an entry's image, encoded as a shard has them (kObjectsField), where a file says
/// those of all images, as COCO's and Hugging Face's do; `listing` is list_source()'s. No image is
/// read unless the file does not say its size. Throws Error(kCorrupt) that says what cannot be
/// right, and what Source::read() throws. Any thread.
std::vector<std::byte> annotated_objects(const Source& source, const Listing& listing,
                                         const SplitListing& split, std::size_t entry);

/// Throws Error(kUsage) with the doubt.
[[noreturn]] void refuse(const Doubt& doubt, const std::filesystem::path& source);

/// Opens `path` as what it turns out to be, or as the `kind` named; where several are possible, the
/// `options` may tell: split folders are those of a folder, and a tar of images whose labels are
/// given is an archive. At a URL, a packed dataset, an archive or, in a bucket, class folders.
/// Throws Error(kNotFound) when it does not exist, Error(kUnsupported) when no source can read it,
/// Error(kUsage) for an unknown kind.
std::unique_ptr<Source> open_source(const std::filesystem::path& path, std::string_view kind = {},
                                    const ListOptions& options = {});

}  // namespace packhorse

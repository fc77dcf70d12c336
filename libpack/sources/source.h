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

#include "listing/listing.h"
#include "packhorse/sources/list_options.h"

/// Where samples come from. A source lists everything once (`list`), then hands out bytes (`read`).
///
///     auto source = open_source("imagenet");
///     Listing listing = source->list({});
///     Input input;
///     source->read(listing.splits[0], 17, input);
namespace packhorse {

/// Any thread may call any member of one source.
class Source {
 public:
  virtual ~Source() = default;
  /// The name of its SourceKind, or "url"; set by open_source().
  std::string_view opened_as = {};
  /// Lists everything, in an order that depends only on the source's content. Called once. Throws
  /// Error(kNotFound) when there is nothing to pack, Error(kUsage) when a class is not in
  /// `options.classes`.
  virtual Listing list(const ListOptions& options) = 0;
  /// Reads entry `i` of `split` into `out`. Throws Error when the input is gone, cannot be read, or
  /// no longer has the size it was listed with.
  virtual void read(const SplitListing& split, std::size_t i, Input& out) const = 0;
  /// Reads only one of its fields, by its place in Listing::fields; empty if it has none.
  virtual void read_field(const SplitListing& split, std::size_t i, std::size_t field,
                          std::vector<std::byte>& out) const;
  /// Asks for the bytes of entry `i` to be brought into memory soon. Never throws, and never waits
  /// long for more than the directory entry. Returns whether it makes sense to ask for other
  /// entries, too.
  virtual bool prefetch(const SplitListing&, std::size_t) const { return false; }
  /// Whether each image is a file of its own, which whoever uses the source opens again.
  virtual bool images_are_files() const { return false; }
  /// True when the samples have keys and an order of their own, which packing keeps unless told to
  /// shuffle.
  virtual bool ordered() const { return false; }
  /// The key of entry `i` of an ordered source: strictly increasing in byte order within a split.
  virtual std::string key(const SplitListing&, std::size_t) const { return {}; }
  /// The image mode that the images already have: a name from all_transforms(), and its settings.
  virtual std::string image_mode() const { return "original"; }
  virtual std::string image_settings() const { return {}; }
  /// The targets that its samples come with.
  virtual std::vector<TargetRecord> targets() const { return {}; }
  /// The annotations of its objects, if the source has found them itself. Complete only after
  /// list(), but the splits with files are known before.
  virtual TargetOptions own_targets() const { return {}; }
  /// Whether the folders of the images are their classes, unless labels are given.
  virtual bool folders_are_classes() const { return false; }
};

class FolderLook;

/// How a kind of source is recognised and opened. all_sources() has one line for each.
struct SourceKind {
  std::string_view name = {};
  std::string_view summary = {};
  bool (*probe)(const std::filesystem::path&,
                FolderLook&) = nullptr;  ///< as far as a look at it tells; may
                                         ///< throw as open_source()
  std::unique_ptr<Source> (*open)(const std::filesystem::path&) = nullptr;
  /// Whether a path may be one of a source that names its inputs by URLs; null: none is.
  bool (*may_name_urls)(const std::filesystem::path&) = nullptr;
  /// Whether one file has the objects of all images, so that annotated_objects() can return them.
  bool has_annotation_file = false;
};

std::span<const SourceKind> all_sources();

/// Whether listing `source` may open URLs, although it is not a URL itself: see
/// set_remote_opener().
bool may_name_urls(const std::filesystem::path& source);

/// Lists a source, and finds which objects are in its images where `options.targets` asks for that;
/// without labels given, its images then need no classes. Throws as Source::list(), and as reading
/// the annotations does.
Listing list_source(Source& source, const ListOptions& options);

/// The objects in an entry's image, encoded as in a shard (kObjectsField), if one file has those of
/// all images, as in COCO and Hugging Face; `listing` is from list_source(). An image is read only
/// if the file does not give its size. Throws Error(kCorrupt) for invalid annotations, and what
/// Source::read() throws. Any thread.
std::vector<std::byte> annotated_objects(const Source& source, const Listing& listing,
                                         const SplitListing& split, std::size_t entry);

/// Throws Error(kUsage) with the doubt.
[[noreturn]] void refuse(const Doubt& doubt, const std::filesystem::path& source);

/// Opens `path` as the kind that it is recognised as, or as the `kind` named. If several are
/// possible, the `options` may decide: split folders mean a folder, and a tar of images whose
/// labels are given is an archive. At a URL, a packed dataset, an archive or, in a bucket, class
/// folders. Throws Error(kNotFound) when it does not exist, Error(kUnsupported) when no source can
/// read it, Error(kUsage) for an unknown kind.
std::unique_ptr<Source> open_source(const std::filesystem::path& path, std::string_view kind = {},
                                    const ListOptions& options = {});

}  // namespace packhorse

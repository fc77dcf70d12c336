#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/order_kind.h"

namespace packhorse::reader {

/// What to do with class folders whose names are not classes ("train", "images", "masks"), or whose
/// layout is ambiguous: packhorse::Doubt. kTake is for callers that ignore labels.
enum class OddClasses : std::uint8_t { kRefuse, kTake };

/// Samples that can be read at random: a packed dataset of any format, or a plain class folder,
/// behind one interface.
///
///     auto dataset = Dataset::open("packed/train");
///     std::vector<std::byte> jpeg;
///     dataset->read(17, jpeg);
///
/// Immutable and thread-safe after open(). Effects on the whole process: the first packed dataset
/// installs a handler of SIGBUS and fork handlers (packhorse/base/mapped_file.h).
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Opens a packed dataset, which may be at a URL (remote_files.h), or a class folder. For a
  /// source with splits, `split` picks one ("train" when empty and there is one). A folder's splits
  /// and classes are those that packing it would give, and so are its objects where a file says
  /// those of all images, as COCO's does. Throws Error(kNotFound | kCorrupt | kUsage).
  static std::shared_ptr<const Dataset> open(const std::filesystem::path& path,
                                             const std::string& split = "",
                                             OddClasses odd = OddClasses::kRefuse);
  /// Image files, in this order, without classes: all labels are 0. Throws Error(kNotFound |
  /// kUsage) for a path that is not a file.
  static std::shared_ptr<const Dataset> of_files(std::vector<std::filesystem::path> files);

  /// An id that copies of a dataset share: a packed dataset's id (packing the same samples in
  /// another way gives another one), or a hash of a folder's paths, labels and sizes. Empty if
  /// unknown.
  virtual std::string id() const { return {}; }
  virtual std::size_t size() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  /// As in all that takes a sample, i < size(): a packed dataset throws Error(kUsage) otherwise; of
  /// a class folder it must hold.
  virtual std::int64_t label(std::size_t i) const = 0;
  /// Bytes of sample i's image, decompressed where the shard is compressed.
  virtual std::uint64_t bytes(std::size_t i) const = 0;
  /// What is known of sample i's image without reading its bytes; kind kUnknown when nothing is.
  /// Raw pixels (kRaw) cannot be decoded without it.
  virtual ImageInfo image(std::size_t) const { return {}; }
  /// Reads the image's bytes into `out` (resized). A packed sample's hash is checked:
  /// Error(kCorrupt) with its key when the bytes are not the packed ones. Other errors: kIo,
  /// kNotFound.
  virtual void read(std::size_t i, std::vector<std::byte>& out) const = 0;
  /// Returns the same bytes without a copy where the dataset can: in memory of its own, where they
  /// stay while they are held, or in `scratch`, until that changes; never longer than the dataset.
  virtual BytesLease view(std::size_t i, std::vector<std::byte>& scratch) const {
    read(i, scratch);
    return {scratch};
  }
  /// Names of what samples may have besides their image, sorted.
  virtual const std::vector<std::string>& fields() const;
  /// Which of them are targets, and of which kind.
  virtual const std::vector<TargetRecord>& targets() const;
  /// Reads a field, by its place in fields(), into `out` (resized); its hash is checked as an
  /// image's is. Returns false when the sample has none.
  virtual bool read_field(std::size_t, std::size_t, std::vector<std::byte>&) const { return false; }
  /// Call this after the last use of a view(), while it is held: throws Error(kIo) when its file
  /// was truncated meanwhile.
  virtual void check_whole(std::size_t) const {}

  /// The index in files() of the file that holds sample i; equal for neighbours that are as fast to
  /// read together.
  virtual std::size_t file_of(std::size_t) const { return 0; }
  /// Asks the storage for samples that will be read soon, in ascending order, without waiting for
  /// it. Returns the bytes requested.
  virtual std::uint64_t prefetch(std::span<const std::uint64_t>) const { return 0; }
  /// Approximate share of the data that is in memory already: 0 to 1. Also 1 where prefetch() would
  /// not help.
  virtual double resident_share() const { return 1; }
  /// The default order for the dataset's storage. It depends on the options, not on what has been
  /// read, so it is the same in all processes with the same options.
  virtual OrderKind usual_order() const { return OrderKind::kGlobal; }
  /// Gives up mapped memory, so that the kernel is free to drop the files from its cache; for a
  /// dataset at a URL, drops everything that is kept only in memory.
  virtual void release() const {}

  /// Names the sample for people: its key and shard, or its file path.
  virtual std::string describe(std::size_t i) const = 0;
  /// The sample's name in its storage: its key, or its file's path.
  virtual std::string name(std::size_t i) const { return describe(i); }
  /// The path that sample i had in the source, such as "cats/1.jpg"; empty if unknown.
  virtual std::string source_path(std::size_t) const { return {}; }
  /// Files that read() reads from, for dropping them from the page cache or counting them; none of
  /// a dataset at a URL.
  virtual std::vector<std::filesystem::path> files() const = 0;
  /// A file with samples.
  struct Extent {
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;  ///< of the file
  };
  /// All files, in the order of their samples, of a dataset so large that bytes() of each sample
  /// would open too many of them; nothing for the others.
  virtual std::vector<Extent> extents() const { return {}; }
  /// The datasets that concat() joined (dataset_views.h), in their order; none of any other.
  virtual std::vector<std::shared_ptr<const Dataset>> members() const { return {}; }
  /// Whether it is at a URL.
  virtual bool from_afar() const { return false; }
  /// Bytes of all its files, also of remote ones. Throws Error(kIo).
  virtual std::uint64_t stored_bytes() const;
  /// Whether each sample is a file of its own, as in a class folder, and not a piece of a shard.
  virtual bool one_file_a_sample() const { return false; }
  /// The name of a format, e.g. "wds", or "folder".
  virtual std::string format() const = 0;
  /// The `--image` mode, "original" for folders.
  virtual std::string image_mode() const = 0;
};

/// The splits of a folder with a file that says which objects are in its images (COCO's layout, or
/// Hugging Face's); none for any other path. Only in packhorse::reader. Throws as Dataset::open().
std::vector<std::string> annotated_splits(const std::filesystem::path& path);

/// `error`, which concerns sample i, with its name.
Error error_at(const Dataset& dataset, std::size_t i, const Error& error);

}  // namespace packhorse::reader

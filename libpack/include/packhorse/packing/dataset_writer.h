#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "packhorse/dataset/sample.h"
#include "packhorse/packing/pack.h"
#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

/// Packs samples that a program adds one by one, into the shards that pack() would make of them.
///
///     PackOptions options;
///     options.format = "wds";
///     options.list.classes = {"cat", "dog"};
///     DatasetWriter writer("packed", options);
///     for (...) writer.add({.image = jpeg, .label = "cat"});
///     PackReport report = writer.finish();
namespace packhorse {

/// One sample on its way into a DatasetWriter. Views only: all of it must live until add() returns.
struct NewSample {
  /// 8-bit pixels: rows from the top without gaps, 1 channel (grey) or 3 (RGB), interleaved.
  struct PixelShape {
    std::uint32_t width = 0, height = 0;
    std::uint8_t channels = 3;
  };
  Bytes image = {};                       ///< an image file of a kind that pack() takes
  std::optional<PixelShape> pixels = {};  ///< set: `image` is pixels, packed as a PNG of them
  std::variant<std::int64_t, std::string_view> label =
      std::int64_t{-1};                ///< a class's number, or its name
  std::span<const Field> fields = {};  ///< extra fields, in any order
  std::string_view key = {};           ///< empty: its place in the dataset
  std::string_view path = {};          ///< for unpack() and reports; empty: <class>/<key>.<kind>
  std::string_view split = {};         ///< its split, if the dataset has any
  /// The objects in it, in pixels of the image as given; needs ObjectNames. An empty list means no
  /// object. Without a value, the sample is refused.
  const Objects* objects = nullptr;
  MaskSize masks = {};  ///< of the objects' run lengths
  /// Its caption: the field `caption`, which the reader delivers.
  std::optional<std::string_view> caption = {};
};

/// The names of the objects' classes and of their keypoints. Without classes, samples have no
/// objects.
struct ObjectNames {
  std::vector<std::string> classes = {}, keypoints = {};
};

/// Makes the dataset `out` of samples that are added one by one, with the promises of pack(): `out`
/// appears in one rename at the end of finish(), verifies, and has the same bytes for the same
/// samples and options whatever the number of threads.
///
/// Samples wait in an unnamed temporary file beside `out`, which disappears with the process, also
/// if that is killed. The disk must hold them twice. They are shuffled like those of a folder,
/// unless the options say otherwise. If they have keys, they keep these, and are stored in their
/// byte order.
///
/// Labels: with PackOptions::list.classes, names and numbers in that list. Without it, either all
/// are names, whose byte order numbers them, or all are numbers, which then are the names, too.
///
/// One thread at a time, in the process that made it: a child made by fork() can neither add nor
/// finish, and leaves everything as it is. Memory: about 80 bytes a sample, and twice its key.
class DatasetWriter {
 public:
  /// Takes OUT.partial, so that two writers cannot work on one dataset. Uses those `options` that
  /// do not concern a source. Throws Error: kUsage (options that make no sense here), kExists (the
  /// target exists, or another writer holds it), kIo, kNoSpace.
  DatasetWriter(std::filesystem::path out, PackOptions options, ObjectNames objects = {});
  /// Abandons the dataset if it is not finished: nothing of it stays.
  ~DatasetWriter();
  DatasetWriter(DatasetWriter&&) noexcept;
  DatasetWriter& operator=(DatasetWriter&&) noexcept;

  /// Adds a sample. A refused sample leaves the writer as it was. Throws Error: kUsage (an invalid
  /// label, key, field, path, split or object; with the key), kRejected (the image is of an
  /// unsupported kind, has a damaged structure, or is beyond the limits), kIo, kNoSpace.
  void add(const NewSample& sample);
  /// Samples added so far; 0 after the end.
  std::uint64_t size() const;

  /// Packs and publishes. The last call: a failure abandons the dataset. As with
  /// pack(), more rejects than allowed (images that could not be decoded) are not an exception but
  /// a report with `published == false`, and the dataset is then abandoned, too. Throws Error:
  /// kUsage (no sample), kIo, kNoSpace, kInterrupted.
  PackReport finish(Progress* progress = nullptr, std::stop_token stop = {});

  /// Gives the dataset up: nothing of it stays. Does nothing after finish().
  void abandon() noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace packhorse

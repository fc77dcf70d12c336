#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "packhorse/dataset/manifest.h"
#include "packhorse/image/image_info.h"
#include "packhorse/packing/dataset_writer.h"

namespace packhorse {

/// The labels of samples that are added one by one: by the names of classes or by their numbers.
///
/// With a class list, both are places in that list. Without one, the first label decides: names are
/// numbered by their byte order once all are known, and numbers are names as well ("0", "1", ...),
/// as in list files (labels/label_names.h).
class AddedLabels {
 public:
  using Label = std::variant<std::int64_t, std::string_view>;

  /// Throws Error(kUsage) for a list with an empty or repeated name, or one with a line break.
  explicit AddedLabels(std::vector<std::string> classes);

  /// The number of a label until finish() gives the final one, and its class. Throws Error(kUsage).
  std::int64_t number(const Label& label);
  std::string class_of(std::int64_t number) const;

  /// Fixes the classes: label -> name.
  std::vector<std::string> finish();
  /// After finish(): the final label.
  std::int64_t label(std::int64_t number) const;

 private:
  std::int64_t of_name(std::string_view name);
  std::int64_t of_number(std::int64_t number);

  enum class Kind { kNone, kNames, kNumbers };
  const bool pinned_;
  Kind kind_ = Kind::kNone;
  std::int64_t largest_ = -1;
  std::vector<std::string> names_;  ///< by number
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::vector<std::int64_t> labels_;  ///< number -> label, where they differ
};

/// How the manifest describes the objects that are added. Throws Error(kUsage) for names that
/// cannot be.
std::vector<TargetRecord> record_of(const ObjectNames& names);

/// The field that holds the objects of a sample whose image is `image`, as stored. Throws
/// Error(kUsage), with the sample's key, for objects that cannot be right, by their numbers.
std::vector<std::byte> encode_added(const NewSample& sample, const ImageInfo& image,
                                    const ObjectNames& names);

}  // namespace packhorse

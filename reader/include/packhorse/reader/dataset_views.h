#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/reader/dataset.h"

/// Datasets made of others: parts, and several as one.
///
///     auto all = Dataset::open("packed/train");
///     auto part = subset(all, choose(*all, {.classes = {"cat", "dog"}, .fold = Fold{5, 0}}));
namespace packhorse::reader {

/// The samples of a dataset with these numbers, in this order; a number may come several times.
/// Sample i of the subset is samples[i] of the dataset, and its id depends on both. Throws
/// Error(kUsage) for no numbers, and for one that the dataset does not have.
std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset,
                                      std::vector<std::uint64_t> samples);

/// What concat() does with the classes of its members.
enum class ClassNames : std::uint8_t {
  kJoined,  ///< classes of one name are one class, in the order in which the members name them
  kApart,   ///< "0/cat", "1/cat": all stay, with the number of the member
};

/// Several datasets as one: the samples of the first, then those of the second, and so on. A
/// sample has the fields that its member has. Throws Error(kUsage) for no members, and for members
/// with unlike targets: other kinds, or other classes or keypoints of objects.
std::shared_ptr<const Dataset> concat(std::vector<std::shared_ptr<const Dataset>> members,
                                      ClassNames names = ClassNames::kJoined);

/// A sample of one of Dataset::members().
struct MemberSample {
  std::size_t member = 0;
  std::uint64_t sample = 0;
  bool operator==(const MemberSample&) const = default;
};
/// Where sample i of a concat(), or of a subset() of one, is. Member 0 where there are no members.
MemberSample member_sample(const Dataset& dataset, std::uint64_t i);

/// One of `parts` parts of a dataset, for cross-validation. In which part a sample is depends on
/// its path in the source (its key, if unknown) and, with `stratified`, on those of its class. It
/// does not depend on the order in which the samples are packed.
struct Fold {
  std::uint64_t parts = 5;
  std::uint64_t part = 0;   ///< from 0
  bool held_out = false;    ///< this part; otherwise all the others
  bool stratified = false;  ///< each part has as many samples of each class as another, or one more
};

/// Which samples are chosen: those for which everything that is set holds.
struct Choice {
  std::vector<std::string> classes = {};  ///< names
  std::string keys = {};                  ///< a glob (fnmatch) of the sample's key, Dataset::name()
  std::string paths = {};      ///< a glob of its path in the source; '*' also matches '/'
  std::uint32_t min_side = 0;  ///< of the stored image, in pixels
  std::optional<Fold> fold = {};
};

/// Their numbers, ascending. Throws Error(kUsage) where none is chosen, for a class that there is
/// not, for a part beyond the fold's, and where the index does not know what is asked for.
std::vector<std::uint64_t> choose(const Dataset& dataset, const Choice& choice);

}  // namespace packhorse::reader

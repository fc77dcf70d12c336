#include "packhorse/targets/class_set.h"

#include <array>
#include <cmath>
#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::array<char, 8> kClassesMagic = {'P', 'H', 'C', 'L', 'S', '1', 0, 0};
constexpr std::size_t kClassesHead = kClassesMagic.size() + 2 * sizeof(std::uint32_t);

[[noreturn]] void refuse_classes(const char* what) {
  throw Error(ErrorKind::kCorrupt, std::string("the field is no set of classes: ") + what);
}

}  // namespace

std::vector<std::byte> encode_classes(const ClassSet& classes) {
  const std::size_t label_bytes = classes.labels.size() * sizeof(std::int32_t);
  const std::size_t score_bytes = classes.scores.size() * sizeof(float);
  std::vector<std::byte> field(kClassesHead + label_bytes + score_bytes);
  const std::array<std::uint32_t, 2> counts = {static_cast<std::uint32_t>(classes.labels.size()),
                                               static_cast<std::uint32_t>(classes.scores.size())};
  std::memcpy(field.data(), kClassesMagic.data(), kClassesMagic.size());
  std::memcpy(field.data() + kClassesMagic.size(), counts.data(), sizeof counts);
  if (label_bytes > 0)
    std::memcpy(field.data() + kClassesHead, classes.labels.data(), label_bytes);
  if (score_bytes > 0)
    std::memcpy(field.data() + kClassesHead + label_bytes, classes.scores.data(), score_bytes);
  return field;
}

ClassSet decode_classes(Bytes field) {
  std::array<std::uint32_t, 2> counts{};
  if (field.size() < kClassesHead ||
      std::memcmp(field.data(), kClassesMagic.data(), kClassesMagic.size()) != 0)
    refuse_classes("it does not begin like one");
  std::memcpy(counts.data(), field.data() + kClassesMagic.size(), sizeof counts);
  const std::uint64_t values = std::uint64_t{counts[0]} + counts[1];
  if (field.size() != kClassesHead + values * sizeof(std::uint32_t))
    refuse_classes("it has another size than it says");
  if (counts[1] != 0 && counts[1] != counts[0]) refuse_classes("some labels have no score");
  ClassSet classes;
  classes.labels.resize(counts[0]);
  classes.scores.resize(counts[1]);
  const std::size_t label_bytes = counts[0] * sizeof(std::int32_t);
  if (label_bytes > 0) std::memcpy(classes.labels.data(), field.data() + kClassesHead, label_bytes);
  if (counts[1] > 0)
    std::memcpy(classes.scores.data(), field.data() + kClassesHead + label_bytes,
                counts[1] * sizeof(float));
  std::int32_t least = 0;
  for (const std::int32_t label : classes.labels) {
    if (label < least) refuse_classes("its labels do not ascend");
    least = label + (label < INT32_MAX ? 1 : 0);
  }
  for (const float score : classes.scores) {
    if (!std::isfinite(score)) refuse_classes("a score is not finite");
  }
  return classes;
}

}  // namespace packhorse

#include "sources/arrays/array_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse::arrays {

namespace {

constexpr std::uint64_t kAtOnce = 1u << 16;  // labels

}  // namespace

ArrayLabels::ArrayLabels(const StoredArray& array, Payloads& payloads,
                         const std::filesystem::path& path)
    : payloads_(&payloads), count_(array.rows()), width_(value_bytes(array.type)) {
  const auto refuse = [&](const std::string& what, const std::string& advice) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("the array '{}' {}", printable(array.name), what), path, advice);
  };
  const char kind = array.type.size() > 1 ? array.type[1] : ' ';
  const bool integers = std::string_view("biu").find(kind) != std::string_view::npos;
  if (!integers || width_ == 0 || width_ > 8) {
    refuse("holds values of type " + printable(array.type) + ", where labels are integers",
           "convert it, e.g. y.astype('int64')");
  }
  if (array.bytes != count_ * width_) {
    refuse("has the shape of " + array.description() + ": several values for each image",
           "save one label for each: y.argmax(axis=1) where one of them is 1");
  }
  is_signed_ = kind == 'i';
  big_endian_ = array.type[0] == '>';
  locator_ = payloads.add(array.file, array.place);
}

void ArrayLabels::for_each(
    const std::function<void(std::uint64_t, const std::string&)>& visit) const {
  std::vector<std::byte> values;
  for (std::uint64_t begin = 0; begin < count_; begin += kAtOnce) {
    const std::uint64_t n = std::min(kAtOnce, count_ - begin);
    values.resize(n * width_);
    payloads_->read_part(locator_, begin * width_, values);
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t value = 0;
      for (std::uint64_t b = 0; b < width_; ++b) {
        const std::uint64_t at = big_endian_ ? b : width_ - 1 - b;
        value = value << 8 | std::to_integer<std::uint64_t>(values[i * width_ + at]);
      }
      const auto unused = static_cast<unsigned>(64 - 8 * width_);
      visit(begin + i, is_signed_
                           ? std::to_string(std::bit_cast<std::int64_t>(value << unused) >> unused)
                           : std::to_string(value));
    }
  }
}

}  // namespace packhorse::arrays

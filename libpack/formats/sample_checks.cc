#include "formats/sample_checks.h"

#include <algorithm>

#include "image/npy.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

bool is_field_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::none_of(name, [](char c) {
    return c == '/' || c == '\0' || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

SampleChecks::SampleChecks(const ShardSpec& spec, std::filesystem::path shard)
    : names_(spec.fields), shard_(std::move(shard)), fields_(spec.fields.size()) {
  for (const std::string& name : names_) {
    if (!is_field_name(name)) {
      throw Error(ErrorKind::kUsage, "'" + name + "' is not a valid field name", shard_,
                  "use what follows the key in a file name, in lower case, e.g. 'seg.png'");
    }
  }
  if (std::ranges::adjacent_find(names_, std::greater_equal<>()) != names_.end()) {
    throw Error(ErrorKind::kUsage, "names of fields must be sorted and unique", shard_);
  }
}

void SampleChecks::check(const Sample& sample) {
  if (!last_key_.empty() && sample.key <= last_key_)
    refuse("keys must be strictly increasing", sample.key);
  last_key_ = sample.key;
  if (sample.image.kind == ImageKind::kRaw && sample.bytes.size() != pixel_bytes(sample.image)) {
    refuse("the number of pixels does not match the image's size", sample.key);
  }
  std::size_t given = 0;
  for (std::size_t f = 0; f < names_.size(); ++f) {
    const bool has = given < sample.fields.size() && sample.fields[given].name == names_[f];
    fields_[f] = has ? &sample.fields[given++] : nullptr;
  }
  if (given < sample.fields.size()) {
    refuse("the field '" + std::string(sample.fields[given].name) +
               "' was not announced, or is out of order",
           sample.key);
  }
}

void SampleChecks::refuse(const std::string& what, std::string_view key) const {
  throw Error(ErrorKind::kUsage, what, shard_, {}, std::string(key));
}

void refuse_compression(const ShardSpec& spec, const std::filesystem::path& shard) {
  if (spec.zstd_level == 0) return;
  throw Error(ErrorKind::kUsage, "this format cannot be compressed", shard,
              "use the format wds, or do not compress");
}

Bytes StoredSample::image(ImageKind kind) const {
  return in_npy && kind == ImageKind::kRaw ? npy_pixels(bytes) : bytes;
}

}  // namespace packhorse

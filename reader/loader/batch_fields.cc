#include "loader/batch_fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/printable.h"
#include "image/npy.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr const char* kLeaveOut = "leave the field out of `fields=`";

bool has_suffix(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.ends_with(suffix) && name[name.size() - suffix.size() - 1] == '.');
}

/// Bytes of a number of a type that arrays may have: of this machine's byte order, and no objects,
/// which would be pickles. 0 for others.
std::size_t bytes_of_type(std::string_view type) {
  constexpr std::array<std::string_view, 12> kTypes = {"|b1", "|u1", "|i1", "<u2", "<i2", "<f2",
                                                       "<u4", "<i4", "<f4", "<u8", "<i8", "<f8"};
  const auto* const found = std::ranges::find(kTypes, type);
  return found == kTypes.end() ? 0 : static_cast<std::size_t>(type.back() - '0');
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t side : shape) text += (text.empty() ? "" : ", ") + std::to_string(side);
  return "[" + text + "]";
}

/// The bytes of the array that follow its header. Throws Error(kUnsupported) for one that cannot be
/// stacked, Error(kCorrupt) for one of another size.
std::size_t checked_size(const NpyHeader& header, std::size_t file_bytes) {
  std::uint64_t bytes = bytes_of_type(header.type);
  if (bytes == 0)
    throw Error(ErrorKind::kUnsupported,
                "an array of the type " + printable(header.type) + " cannot be stacked", {},
                "store numbers or bool, in little-endian order");
  if (header.fortran_order && header.shape.size() > 1)
    throw Error(ErrorKind::kUnsupported, "an array in Fortran order cannot be stacked", {},
                "store numpy.ascontiguousarray() of it");
  for (const std::uint64_t side : header.shape) {
    constexpr std::uint64_t kMost = FieldsReader::kMostArrayBytes;  // also beside a side of 0
    if (side > kMost || __builtin_mul_overflow(bytes, side, &bytes) || bytes > kMost)
      throw Error(ErrorKind::kUnsupported,
                  "an array of more than 64 MiB a sample is not stacked in batches", {}, kLeaveOut);
  }
  if (bytes != file_bytes - header.bytes)
    throw Error(ErrorKind::kCorrupt, "damaged .npy: its size is not the one in its header");
  return bytes;
}

/// The error, which is about a field.
Error of_field(const std::string& name, const Error& error) {
  return {error.kind(), "field '" + printable(name) + "': " + error.what(), error.path(),
          error.advice()};
}

std::string advice_of(const Dataset& dataset) {
  std::string text;
  for (const std::string& name : dataset.fields())
    text += (text.empty() ? "give fields of the dataset: " : ", ") + printable(name);
  return text.empty() ? "leave out `fields=`: the dataset has none" : text;
}

}  // namespace

FieldsReader::FieldsReader(const Dataset& dataset, const std::vector<std::string>& names)
    : dataset_(dataset) {
  const auto& known = dataset.fields();
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw Error(ErrorKind::kUsage, "no sample has a field '" + printable(name) + "'", {},
                  advice_of(dataset));
    if (std::ranges::find(fields_, name, [](const Field& field) { return field.like.name; }) !=
        fields_.end())
      throw Error(ErrorKind::kUsage, "the field '" + printable(name) + "' is named twice");
    const bool caption = std::ranges::any_of(dataset.targets(), [&](const TargetRecord& target) {
      return target.name == name && target.kind == kCaptionTarget;
    });
    Field field{.number = static_cast<std::size_t>(found - known.begin()),
                .like = {.name = name, .is_text = caption || has_suffix(name, "txt")}};
    if (has_suffix(name, "npy") && dataset.size() > 0) learn_array(field);
    fields_.push_back(std::move(field));
  }
}

void FieldsReader::learn_array(Field& field) const try {
  std::vector<std::byte> bytes;
  if (!dataset_.read_field(0, field.number, bytes))
    throw Error(ErrorKind::kUsage, "the sample has no such array, and arrays are stacked", {},
                kLeaveOut);
  const NpyHeader header = parse_npy_header(bytes);
  field.array_bytes = checked_size(header, bytes.size());
  field.like.type = header.type;
  field.like.shape.assign(header.shape.begin(), header.shape.end());
} catch (const Error& error) {
  throw error_at(dataset_, 0, of_field(field.like.name, error));
}

std::vector<BatchField> FieldsReader::make_room(std::size_t places) const {
  std::vector<BatchField> made;
  for (const Field& field : fields_) {
    made.push_back(field.like);
    if (field.like.type.empty()) {
      made.back().values.resize(places);
    } else {
      // Not cleared: a batch has only places that were written.
      made.back().numbers = std::make_shared_for_overwrite<std::byte[]>(
          std::max<std::size_t>(places * field.array_bytes, 1));
    }
  }
  return made;
}

void FieldsReader::read(std::uint64_t sample, std::size_t place, std::vector<BatchField>& to,
                        std::vector<std::byte>& scratch) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) try {
      const Field& field = fields_[i];
      const bool there = dataset_.read_field(sample, field.number, scratch);
      if (field.like.type.empty()) {
        if (there && field.like.is_text && !is_utf8(as_text(scratch)))
          throw Error(ErrorKind::kCorrupt, "the text is not UTF-8");
        to[i].values[place] = there ? std::optional(scratch) : std::nullopt;
        continue;
      }
      if (!there)
        throw Error(ErrorKind::kUnsupported, "the sample has no such array, and arrays are stacked",
                    {}, kLeaveOut);
      const NpyHeader header = parse_npy_header(scratch);
      const std::size_t bytes = checked_size(header, scratch.size());
      if (header.type != field.like.type || !std::ranges::equal(header.shape, field.like.shape))
        throw Error(ErrorKind::kUnsupported,
                    "the array is " + header.type + " " + shape_text(header.shape) +
                        ", the first sample's is " + field.like.type + " " +
                        shape_text({field.like.shape.begin(), field.like.shape.end()}) +
                        ": they cannot be stacked",
                    {}, "store arrays of one type and shape, or leave the field out of `fields=`");
      std::memcpy(to[i].numbers.get() + place * bytes, scratch.data() + header.bytes, bytes);
    } catch (const Error& error) {
      throw of_field(fields_[i].like.name, error);
    }
}

void FieldsReader::leave_out(std::size_t place, std::vector<BatchField>& to) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].like.type.empty()) {
      to[i].values[place].reset();
    } else {
      std::memset(to[i].numbers.get() + place * fields_[i].array_bytes, 0, fields_[i].array_bytes);
    }
  }
}

}  // namespace packhorse::reader

#include "formats/lmdb/layout.h"
#include "packhorse/base/error.h"

namespace packhorse::lmdb {

namespace {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_number(std::string& out, char tag, std::uint64_t value) {
  out += tag;
  put_varint(out, value);
}

[[noreturn]] void corrupt() { throw Error(ErrorKind::kCorrupt, "a value is not a Caffe Datum"); }

std::uint64_t take_varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) corrupt();
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  corrupt();
}

Bytes take(Bytes& bytes, std::uint64_t n) {
  if (n > bytes.size()) corrupt();
  const Bytes piece = bytes.first(n);
  bytes = bytes.subspan(n);
  return piece;
}

}  // namespace

DatumFrame frame_datum(const ImageInfo& image, std::size_t image_bytes, std::int64_t label) {
  const bool raw = image.kind == ImageKind::kRaw;
  DatumFrame frame;
  if (raw) {
    put_number(frame.head, kChannelsTag, image.components);
    put_number(frame.head, kHeightTag, image.height);
    put_number(frame.head, kWidthTag, image.width);
  }
  put_number(frame.head, kDataTag, image_bytes);
  put_number(frame.tail, kLabelTag, static_cast<std::uint64_t>(label));
  put_number(frame.tail, kEncodedTag, raw ? 0 : 1);
  return frame;
}

Datum parse_datum(Bytes value) {
  Datum datum;
  while (!value.empty()) {
    const std::uint64_t tag = take_varint(value);
    switch (tag & 7) {
      case 0: {
        const std::uint64_t number = take_varint(value);
        if (tag == kLabelTag) datum.label = static_cast<std::int32_t>(number);
        if (tag == kEncodedTag) datum.encoded = number != 0;
        break;
      }
      case 1:
        take(value, 8);
        break;
      case 2: {
        const Bytes piece = take(value, take_varint(value));
        if (tag == kDataTag) datum.image = piece;
        break;
      }
      case 5:
        take(value, 4);
        break;
      default:
        corrupt();
    }
  }
  return datum;
}

}  // namespace packhorse::lmdb

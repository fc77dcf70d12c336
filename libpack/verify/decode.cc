#include "verify/decode.h"

#include <algorithm>
#include <limits>

#include "packhorse/error.h"
#include "transforms/decode_any.h"

namespace packhorse {

void decode_strictly(Bytes image, const ImageInfo& info) {
  check_described(image, info);
  if (info.kind == ImageKind::kRaw) return;
  const auto as_int = [](std::uint32_t value) {
    return static_cast<int>(
        std::min<std::uint32_t>(value, std::uint32_t{std::numeric_limits<int>::max()}));
  };
  const auto rows =
      transforms::open_rows(image, info, as_int(info.width), as_int(info.height));  // full size
  for (int y = 0; y < rows->height; ++y) static_cast<void>(rows->next_row());
}

}  // namespace packhorse

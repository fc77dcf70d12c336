#include "annotations/caption.h"

#include <fmt/format.h>

#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

constexpr std::size_t kLongestCaption = 1 << 20;

}  // namespace

void check_caption(Bytes caption) {
  const std::string_view text = as_text(caption);
  if (text.size() > kLongestCaption)
    throw Error(ErrorKind::kUnsupported, fmt::format("its caption has {} bytes, the limit is {}",
                                                     text.size(), kLongestCaption));
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::kCorrupt, "its caption is no text in UTF-8");
}

}  // namespace packhorse

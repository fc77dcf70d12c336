#pragma once

#include "codecs/codec.h"
#include "codecs/cursor.h"

/// GIF87a and GIF89a.
namespace packhorse::codecs::gif {

/// What the blocks of a file say; the frame is the first.
struct Header {
  std::uint32_t width = 0, height = 0;  ///< of the screen, or of the frame if that reaches further
  std::uint32_t frames = 0;
  int transparent = -1;  ///< the frame's transparent colour, or -1
};

/// Reads it; nothing when the file is damaged or not whole: `reason` then says why.
std::optional<Header> read(const Cursor& data, std::string& reason);

}  // namespace packhorse::codecs::gif

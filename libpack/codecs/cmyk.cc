#include "codecs/cmyk.h"

namespace packhorse {

void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels) {
  for (int i = 0; i < pixels; ++i, cmyk += 4) {
    const unsigned k = cmyk[3];
    for (int channel = 0; channel < 3; ++channel) {
      const unsigned product = cmyk[channel] * k + 128;
      *rgb++ = static_cast<std::uint8_t>((product + (product >> 8)) >> 8);  // / 255, rounded
    }
  }
}

}  // namespace packhorse

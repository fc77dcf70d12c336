#pragma once

#include <cstdint>
#include <cstring>

#include "input/normalize_kernel.h"
#include "input/on_both.h"

/// Defines how normalize.cu goes over the values of a batch (red, green, blue, red, ...), for the
/// GPU and for tests on the CPU.
namespace packhorse::trainer {

/// Values that a thread processes at a time: 16 bytes in, 32 or 64 out.
constexpr int kVector = 16;

/// 16 bytes, which a GPU moves at once.
struct alignas(16) Packet {
  std::uint32_t words[4];
};

PACKHORSE_ON_BOTH inline Packet load(const void* from) {
#ifdef __CUDA_ARCH__
  return *static_cast<const Packet*>(from);
#else
  Packet packet;
  std::memcpy(&packet, from, sizeof packet);
  return packet;
#endif
}

PACKHORSE_ON_BOTH inline void store(void* to, const Packet& packet) {
#ifdef __CUDA_ARCH__
  *static_cast<Packet*>(to) = packet;
#else
  std::memcpy(to, &packet, sizeof packet);
#endif
}

/// Number of vectors from the first value on. The values after them are processed one by one; so
/// are all values when the memory does not begin at a multiple of 16 bytes.
inline std::int64_t whole_vectors(const void* in, const void* out, std::int64_t values) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return aligned(in) && aligned(out) ? values / kVector : 0;
}

/// Normalises value number `i`.
template <class T>
PACKHORSE_ON_BOTH void normalize_value(const std::uint8_t* in, T* out, std::int64_t i,
                                       const PixelScale& scale) {
  out[i] = static_cast<T>(static_cast<float>(in[i]) * scale.factor[i % 3] + scale.offset[i % 3]);
}

/// Normalises vector number `i`: values 16 i to 16 i + 15. 16 is 1 modulo 3, so its first value is
/// of channel i mod 3. The scale is rotated by that, so that the compiler knows the channel of each
/// place.
template <class T>
PACKHORSE_ON_BOTH void normalize_vector(const std::uint8_t* in, T* out, std::int64_t i,
                                        const PixelScale& scale) {
  const int first = static_cast<int>(i % 3);
  float factor[3], offset[3];
  for (int c = 0; c < 3; ++c) {
    const int channel = (first + c) % 3;
    factor[c] = channel == 0 ? scale.factor[0] : channel == 1 ? scale.factor[1] : scale.factor[2];
    offset[c] = channel == 0 ? scale.offset[0] : channel == 1 ? scale.offset[1] : scale.offset[2];
  }
  const Packet bytes = load(in + kVector * i);
  constexpr unsigned kEach = 16 / sizeof(T);  // values in a packet of the output
  for (unsigned begin = 0; begin < kVector; begin += kEach) {
    T values[kEach];
    for (unsigned k = 0; k < kEach; ++k) {
      const unsigned at = begin + k;
      const std::uint32_t x = bytes.words[at / 4] >> 8 * (at % 4) & 0xFF;  // little-endian
      values[k] = static_cast<T>(static_cast<float>(x) * factor[at % 3] + offset[at % 3]);
    }
    Packet packet;
    std::memcpy(&packet, values, sizeof packet);
    store(out + kVector * i + begin, packet);
  }
}

}  // namespace packhorse::trainer

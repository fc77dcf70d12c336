#include "jpeg/kernels/kernels_by_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/decode/unstuff.cc"
// These must come last.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace packhorse::jpeg::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors

ByteKernels byte_walks_of_target() {
  return {plain_kernels().unstuff, plain_kernels().find_marker};
}

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::CappedTag<std::uint8_t, 32>;
constexpr D8 d8;

/// How many bytes of the vector precede the first 0xff; Lanes() when there is none.
template <class V>
HWY_INLINE std::size_t before_ff(V bytes) {
  const auto first = hn::FindFirstTrue(d8, hn::Eq(bytes, hn::Set(d8, 0xff)));
  return first < 0 ? hn::Lanes(d8) : static_cast<std::size_t>(first);
}

HWY_INLINE bool stuffed(const std::uint8_t* at, const std::uint8_t* end) {
  return end - at >= 2 && at[1] == 0;
}

Unstuffed unstuff(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* out) {
  const std::size_t lanes = hn::Lanes(d8);
  while (from < end) {
    if (static_cast<std::size_t>(end - from) >= lanes) {
      const auto bytes = hn::LoadU(d8, from);
      hn::StoreU(bytes, d8, out);
      const std::size_t plain = before_ff(bytes);
      from += plain;
      out += plain;
      if (plain == lanes) continue;
    } else if (*from != 0xff) {
      *out++ = *from++;
      continue;
    }
    if (!stuffed(from, end)) break;
    *out++ = 0xff;
    from += 2;
  }
  return {from, out};
}

const std::uint8_t* find_marker(const std::uint8_t* from, const std::uint8_t* end) {
  const std::size_t lanes = hn::Lanes(d8);
  while (from < end) {
    if (static_cast<std::size_t>(end - from) >= lanes) {
      const std::size_t plain = before_ff(hn::LoadU(d8, from));
      from += plain;
      if (plain == lanes) continue;
    } else if (*from != 0xff) {
      ++from;
      continue;
    }
    if (!stuffed(from, end)) break;
    from += 2;
  }
  return from;
}

}  // namespace

ByteKernels byte_walks_of_target() { return {unstuff, find_marker}; }

#endif

}  // namespace packhorse::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace packhorse::jpeg {

HWY_EXPORT(byte_walks_of_target);
ByteKernels fastest_byte_walks() { return HWY_DYNAMIC_DISPATCH(byte_walks_of_target)(); }

}  // namespace packhorse::jpeg
#endif

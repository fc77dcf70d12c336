#include "archive/byte_stream.h"

#include <zlib.h>

#include "base/file.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

std::string gzip_of(const std::string& text) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::uint64_t length_of(const std::string& stored, ExpansionLimits limits) {
  const TemporaryDirectory root;
  put(root / "a.gz", stored);
  const UniqueFd fd = open_for_reading(root / "a.gz");
  const auto stream = decompress(read_range(fd.get(), {0, stored.size()}, root / "a.gz"),
                                 compression_of(as_bytes(stored)), root / "a.gz", limits);
  std::uint64_t length = 0;
  for (Bytes some = stream->next(); !some.empty(); some = stream->next()) length += some.size();
  return length;
}

}  // namespace

TEST_CASE("byte stream: what expands beyond both limits is refused, and nothing else") {
  constexpr std::uint64_t kLength = 4u << 20;
  const std::string zeros = gzip_of(std::string(kLength, '\0'));
  const std::uint64_t times = kLength / zeros.size();
  REQUIRE(times > 500);
  CHECK(length_of(zeros, {}) == kLength);
  CHECK(length_of(zeros, {kLength, 100}) == kLength);
  CHECK(length_of(zeros, {1, times + 1}) == kLength);
  CHECK(kind_of_error([&] { length_of(zeros, {kLength - 1, 100}); }) == ErrorKind::kUnsupported);
}

}  // namespace packhorse

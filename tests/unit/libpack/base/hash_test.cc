#include "base/hash.h"

#include <utility>

#include "support/support.h"

namespace packhorse {

namespace {

/// The test buffer of xxHash's own sanity checks (tests/sanity_test.c).
std::string xxhash_buffer(std::size_t size) {
  std::string buffer;
  for (std::uint64_t generator = 2654435761u; buffer.size() < size;
       generator *= 11400714785074694797u) {
    buffer += static_cast<char>(generator >> 56);
  }
  return buffer;
}

}  // namespace

TEST_CASE("sha256: gives the values of FIPS 180-2") {
  CHECK(sha256(as_bytes("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256(as_bytes("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(as_bytes(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: the pieces it comes in do not matter") {
  const std::string text = xxhash_buffer(1000);
  Sha256 hash;
  for (std::size_t at = 0; at < text.size(); at += 37) hash.update(as_bytes(text.substr(at, 37)));
  Sha256 moved = std::move(hash);
  CHECK(moved.finish() == sha256(as_bytes(text)));
}

TEST_CASE("sha256: a file has the sum of its bytes") {
  const test::TemporaryDirectory directory;
  const std::string text = xxhash_buffer((1u << 20) + 5);
  test::put(directory / "a", text);
  test::put(directory / "empty", "");
  CHECK(sha256_file(directory / "a") == sha256(as_bytes(text)));
  CHECK(sha256_file(directory / "empty") == sha256({}));
  CHECK(test::kind_of_error([&] { sha256_file(directory / "b"); }) == ErrorKind::kNotFound);
}

TEST_CASE("xxh3: gives the values of xxHash's own tests, for every branch by length") {
  const std::pair<std::size_t, std::uint64_t> vectors[] = {
      {0, 0x2D06800538D394C2u},    {1, 0xC44BDFF4074EECDBu},    {6, 0x27B56A84CD2D7325u},
      {12, 0xA713DAF0DFBB77E7u},   {24, 0xA3FE70BF9D3510EBu},   {48, 0x397DA259ECBA1F11u},
      {80, 0xBCDEFBBB2C47C90Au},   {195, 0xCD94217EE362EC3Au},  {403, 0xCDEB804D65C6DEA4u},
      {2048, 0xDD59E2C3A5F038E0u}, {2240, 0x6E73A90539CF2948u}, {2367, 0xCB37AEB9E5D361EDu}};
  for (const auto& [size, value] : vectors) {
    CAPTURE(size);
    CHECK(xxh3(as_bytes(xxhash_buffer(size))) == value);
  }
}

}  // namespace packhorse

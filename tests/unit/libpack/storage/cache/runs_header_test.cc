#include "storage/cache/runs_header.h"

#include <cstring>

#include "base/hash.h"
#include "packhorse/base/error.h"
#include "storage/cache/account.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;

RunsHeader header_of(std::uint64_t bytes) { return {sha256(as_bytes("x")), bytes, 1234567890123}; }

std::uint64_t size_for(std::uint64_t bytes) { return kRunsHeaderBytes + runs_of(bytes); }

}  // namespace

TEST_CASE("runs header: is read as it was written") {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, kRunBytes - 1, kRunBytes,
                                    kRunBytes + 1, 64 * kRunBytes, kMostCachedBytes}) {
    CAPTURE(bytes);
    const auto found = parse_runs_header(runs_header_bytes(header_of(bytes)), size_for(bytes));
    REQUIRE(found);
    CHECK(found->sha256 == header_of(bytes).sha256);
    CHECK(found->bytes == bytes);
    CHECK(found->used_ns == 1234567890123);
  }
}

TEST_CASE("runs header: runs cover the file, and only the last is shorter") {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, kRunBytes, kRunBytes + 1, 3 * kRunBytes - 1}) {
    std::uint64_t at = 0;
    for (std::size_t run = 0; run < runs_of(bytes); ++run) {
      const ByteRange range = run_range(bytes, run);
      CHECK(range.offset == at);
      CHECK((range.length == kRunBytes || run + 1 == runs_of(bytes)));
      at = range.end();
    }
    CHECK(at == bytes);
  }
  CHECK(runs_of(0) == 0);
}

TEST_CASE("runs header: any other byte in what the checksum covers is refused") {
  for (std::size_t at = 0; at < kRunsHeaderBytes; ++at) {
    CAPTURE(at);
    auto bytes = runs_header_bytes(header_of(5));
    bytes[at] ^= std::byte{4};
    CHECK(parse_runs_header(bytes, size_for(5)).has_value() == (at >= kUsedOffset));
  }
}

TEST_CASE("runs header: a file of another size is refused, and more than 16 TiB") {
  const auto bytes = runs_header_bytes(header_of(3 * kRunBytes));
  CHECK(parse_runs_header(bytes, size_for(3 * kRunBytes)));
  CHECK_FALSE(parse_runs_header(bytes, size_for(3 * kRunBytes) - 1));
  CHECK_FALSE(parse_runs_header(bytes, size_for(3 * kRunBytes) + 1));
  CHECK_FALSE(parse_runs_header(Bytes(bytes).first(kRunsHeaderBytes - 1), size_for(3 * kRunBytes)));
  CHECK_FALSE(parse_runs_header({}, 0));
  for (const std::uint64_t much : {kMostCachedBytes + 1, ~std::uint64_t{0}})
    CHECK_FALSE(parse_runs_header(runs_header_bytes(header_of(much)), size_for(much)));
}

TEST_CASE("account: is read as it was written, in a text of one length") {
  for (const CacheAccount account : {CacheAccount{0, 0}, CacheAccount{~std::uint64_t{0}, 7}}) {
    const std::string text = account_text(account);
    CHECK(text.size() == account_text({5, 5}).size());
    CHECK(parse_account(text).most == account.most);
    CHECK(parse_account(text).stored == account.stored);
  }
  CHECK(parse_account("{\"stored\":1,\"most\":2,\"packhorse_cache\":1,\"more\":[]}").most == 2);
}

TEST_CASE("account: one whose writer was killed is begun, and neither whole nor of others") {
  const std::string text = account_text({~std::uint64_t{0}, 7});
  for (std::size_t i = 0; i < text.size(); ++i) CHECK(is_begun_account(text.substr(0, i)));
  CHECK_FALSE(is_begun_account(text));
  CHECK_FALSE(is_begun_account("{\"packhorse_cache\": 1, \"other\""));
  CHECK_FALSE(is_begun_account("{}"));
}

TEST_CASE("account: anything else is none, and a later version is said to be one") {
  for (const char* text :
       {"", "x", "[]", "null", "{}", "{\"packhorse_cache\": 1}", "{\"packhorse_cache\": \"1\"}",
        "{\"packhorse_cache\": 1, \"most\": -1, \"stored\": 0}",
        "{\"packhorse_cache\": 1, \"most\": 1.5, \"stored\": 0}", "{\"id\": \"ab\"}",
        "[[[[[[[[1]]]]]]]]"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { parse_account(text); }) == ErrorKind::kUsage);
  }
  CHECK(kind_of_error([] { parse_account(std::string(1000, ' ')); }) == ErrorKind::kUsage);
  CHECK(kind_of_error([] { parse_account("{\"packhorse_cache\": 2}"); }) ==
        ErrorKind::kUnsupported);
}

TEST_CASE("account: room is what is left, without wrapping around") {
  CHECK(CacheAccount{10, 4}.has_room_for(6));
  CHECK_FALSE(CacheAccount{10, 4}.has_room_for(7));
  CHECK_FALSE(CacheAccount{10, 11}.has_room_for(0));
  CHECK_FALSE(CacheAccount{10, ~std::uint64_t{0}}.has_room_for(2));
  CHECK_FALSE(CacheAccount{10, 0}.has_room_for(~std::uint64_t{0}));
}

}  // namespace packhorse

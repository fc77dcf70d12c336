// The begin of a cache's .runs file, with a matching checksum; and the account of a cache.
#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "storage/cache/account.h"
#include "storage/cache/runs_header.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

// Offsets in the header; docs/formats/cache.md draws it.
constexpr std::size_t kBytes = 24, kChecksum = 64;

std::vector<std::byte> with_right_checksum(Bytes input) {
  std::vector<std::byte> file(input.begin(), input.end());
  if (file.size() < kRunsHeaderBytes) return file;
  const std::uint64_t checksum = xxh3(Bytes(file).first(kChecksum));
  std::memcpy(file.data() + kChecksum, &checksum, sizeof checksum);
  return file;
}

/// The size that a file with this header should have.
std::uint64_t right_size(Bytes file) {
  std::uint64_t bytes = 0;
  if (file.size() < kRunsHeaderBytes) return file.size();
  std::memcpy(&bytes, file.data() + kBytes, sizeof bytes);
  return kRunsHeaderBytes + runs_of(bytes);
}

void look_at(const RunsHeader& header, Bytes file) {
  fuzz::promise(header.bytes <= kMostCachedBytes, "a file in the cache has a size that can be");
  fuzz::promise(header.sha256.size() == 64, "a file in the cache has a SHA-256");
  const auto again = runs_header_bytes(header);
  fuzz::promise(std::equal(again.begin(), again.begin() + kUsedOffset, file.begin()),
                "a header that is read and written stays as it is");
  const std::size_t runs = runs_of(header.bytes);
  if (runs == 0) return;
  fuzz::promise(run_range(header.bytes, 0).offset == 0 &&
                    run_range(header.bytes, runs - 1).end() == header.bytes &&
                    run_range(header.bytes, runs - 1).length > 0,
                "the runs are the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    fuzz::Choices choices(input);
    const unsigned choice = choices.below(3);
    if (choice == 0) {
      const CacheAccount account = parse_account(as_text(input));
      const CacheAccount again = parse_account(account_text(account));
      fuzz::promise(again.most == account.most && again.stored == account.stored,
                    "an account that is written and read stays as it is");
      return;
    }
    const std::vector<std::byte> file = with_right_checksum(input);
    const std::uint64_t bytes = choice == 1 ? right_size(file) : file.size();
    if (const auto header = parse_runs_header(file, bytes)) look_at(*header, file);
  });
}

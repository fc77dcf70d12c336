#include "base/choices.h"

#include <doctest/doctest.h>

namespace packhorse {

TEST_CASE("nearest: a letter too few, too many, another or two swapped are the same word") {
  const std::vector<std::string> names = {"pack", "inspect", "unpack"};
  for (const char* typed : {"pak", "packk", "puck", "pcak", "PACK"})
    CHECK(nearest(typed, names) == "pack");
  CHECK(nearest("unpak", names) == "unpack");
  CHECK(nearest("--formt", {"--format", "--fit", "--fields"}) == "--format");
}

TEST_CASE("nearest: the beginning of a single name stands for it") {
  CHECK(nearest("--batch", {"--batch-size", "--seed"}) == "--batch-size");
  CHECK(nearest("--shard", {"--shard-bytes", "--shard-samples"}).empty());
}

TEST_CASE("nearest: what resembles nothing has no suggestion, however long it is") {
  const std::vector<std::string> names = {"wds", "lmdb", "x"};
  for (const char* typed : {"", "parquet", "y", "-", "--"}) CHECK(nearest(typed, names).empty());
  CHECK(nearest(std::string(1'000'000, 'w'), names).empty());
  CHECK(nearest("w", {}).empty());
}

TEST_CASE("choice advice: lists all, and asks only where one is near") {
  CHECK(choice_advice("wsd", {"wds", "lmdb"}) == "did you mean wds? choose one of: wds, lmdb");
  CHECK(choice_advice("parquet", {"wds", "lmdb"}) == "choose one of: wds, lmdb");
}

}  // namespace packhorse

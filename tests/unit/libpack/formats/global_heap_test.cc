#include "formats/hdf5/global_heap.h"

#include <cstring>
#include <random>

#include "support/support.h"

namespace packhorse::hdf5 {

namespace {

constexpr std::uint64_t kBegin = 24;  // offset of the collection in the file

template <class T>
void put_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A file with one collection of these values as objects 1, 2, ..., followed by free space.
std::string file_with(const std::vector<std::string>& values) {
  std::string objects;
  std::uint16_t index = 1;
  for (const std::string& value : values) {
    put_number<std::uint16_t>(objects, index++);
    put_number<std::uint16_t>(objects, 1);
    put_number<std::uint32_t>(objects, 0);
    put_number<std::uint64_t>(objects, value.size());
    objects += value;
    objects.resize((objects.size() + 7) / 8 * 8);
  }
  constexpr std::size_t kFree = 64;
  put_number<std::uint64_t>(objects, 0);
  put_number<std::uint64_t>(objects, kFree);
  objects.resize(objects.size() + kFree - 16);
  std::string file(kBegin, '.');
  file += std::string("GCOL\1\0\0\0", 8);
  put_number<std::uint64_t>(file, objects.size() + 16);
  return file + objects + "tail";
}

ReadAt reader_of(const std::string& file) {
  return [&file](std::uint64_t offset, std::span<std::byte> out) {
    REQUIRE(offset <= file.size());
    REQUIRE(out.size() <= file.size() - offset);
    std::memcpy(out.data(), file.data() + offset, out.size());
  };
}

std::vector<HeapObject> parse(const std::string& file) {
  return parse_collection(kBegin, file.size(), reader_of(file));
}

/// The file with a number written at a place in the collection.
template <class T>
std::string with(std::string file, std::size_t place, T number) {
  std::memcpy(file.data() + kBegin + place, &number, sizeof number);
  return file;
}

bool is_refused(const std::string& file) {
  return test::kind_of_error([&] { parse(file); }) == ErrorKind::kCorrupt;
}

constexpr std::size_t kSize = 8, kFirst = 16, kFirstSize = 24, kSecond = 40;

}  // namespace

TEST_CASE("global heap: finds every value, whatever its length") {
  const std::vector<std::string> values = {"one", "12345678", "", "the last one"};
  const std::string file = file_with(values);
  GlobalHeap heap(8, file.size(), reader_of(file));  // HDF5 itself begins at 8
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const auto length = static_cast<std::uint32_t>(values[i].size());
    const ByteRange range = heap.find({length, kBegin - 8, i + 1});
    CHECK(file.substr(range.offset, range.length) == values[i]);
  }
}

TEST_CASE("global heap: a reference to what is not there is damage") {
  const std::string file = file_with({"one", "12345678"});
  GlobalHeap heap(0, file.size(), reader_of(file));
  const auto refused = [&](const HeapReference& reference) {
    return test::kind_of_error([&] { heap.find(reference); }) == ErrorKind::kCorrupt;
  };
  CHECK(refused({3, kBegin, 0}));
  CHECK(refused({3, kBegin, 3}));
  CHECK(refused({4, kBegin, 1}));
  CHECK(refused({3, kBegin + 1, 1}));
  CHECK(refused({3, file.size(), 1}));
  CHECK(refused({3, ~std::uint64_t{0}, 1}));
  CHECK_NOTHROW(heap.find({3, kBegin, 1}));
}

TEST_CASE("global heap: sizes that lead out of what holds them are damage") {
  const std::string file = file_with({"one", "12345678"});
  CHECK(parse(file).size() == 2);
  CHECK(is_refused(with(file, 0, 'X')));
  CHECK(is_refused(with<std::uint8_t>(file, 4, 2)));
  CHECK(is_refused(with<std::uint64_t>(file, kSize, 15)));
  CHECK(is_refused(with<std::uint64_t>(file, kSize, file.size())));
  CHECK(is_refused(with(file, kSize, ~std::uint64_t{0})));
  CHECK(is_refused(with<std::uint64_t>(file, kFirstSize, file.size())));
  CHECK(is_refused(with(file, kFirstSize, ~std::uint64_t{0})));
  CHECK(is_refused(with(file, kFirstSize, ~std::uint64_t{0} - 6)));  // rounds up to zero
  CHECK(is_refused(with<std::uint16_t>(file, kSecond, 1)));          // a number twice
  CHECK(parse(with<std::uint16_t>(file, kFirst, 0)).empty());        // free space from there on
}

TEST_CASE("global heap: no damage leads outside the file") {
  const std::string file = file_with({"one", "12345678", std::string(300, 'x')});
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = file;
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = kBegin + random() % 80;
      damaged[at] = static_cast<char>(random() % 256);
    }
    damaged.resize(round % 2 == 0 ? file.size() : random() % file.size());
    try {
      for (const HeapObject& object : parse(damaged)) {
        REQUIRE(object.data.offset <= damaged.size());
        REQUIRE(object.data.length <= damaged.size() - object.data.offset);
      }
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::kCorrupt);
    }
  }
}

}  // namespace packhorse::hdf5

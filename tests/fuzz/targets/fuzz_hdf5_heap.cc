// A global heap of HDF5, and at the input's end the references into it.
#include <algorithm>

#include "formats/hdf5/global_heap.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;
using hdf5::kReferenceBytes;

void look_at(Bytes file) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    fuzz::promise(offset <= file.size() && out.size() <= file.size() - offset,
                  "the heap is asked for what lies in the file");
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  };
  const std::uint64_t base = file.size() % 8 == 0 ? 0 : 8;
  hdf5::GlobalHeap heap(base, file.size(), read);
  for (std::size_t i = 1; i <= 8 && i * kReferenceBytes <= file.size(); ++i) {
    const auto bytes = file.subspan(file.size() - i * kReferenceBytes).first<kReferenceBytes>();
    const ByteRange range = heap.find(hdf5::parse_reference(bytes));
    fuzz::promise(range.end() >= range.offset && range.end() <= file.size(),
                  "a value lies in the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, look_at);
}

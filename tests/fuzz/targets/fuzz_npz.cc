// A .npz as a source: its arrays, which of them are images and labels, and the images.
#include <algorithm>

#include "sources/kinds.h"
#include "sources/source.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

constexpr std::size_t kRead = 4;  // images of each split: the others are read alike

void look_at(const std::filesystem::path& path) {
  const std::unique_ptr<Source> source = arrays::open(path);
  ListOptions options;
  options.classes = {"cat", "dog"};  // without them, a label of a million makes as many classes
  options.scratch = "/dev/shm";
  const Listing listing = source->list(options);
  Input input;
  for (const SplitListing& split : listing.splits) {
    for (std::size_t i = 0; i < std::min(split.entries.size(), kRead); ++i) {
      const auto label = static_cast<std::size_t>(split.entries.label_of(i));
      fuzz::promise(label < listing.classes.size(), "a label is one of the classes");
      source->read(split, i, input);
      fuzz::touch(input.bytes);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file("input.npz");
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    look_at(file.path());
  });
}

#pragma once

#include <algorithm>

#include "base/file.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "support/support.h"

namespace packhorse {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::make_folder;
using test::put;
using test::TemporaryDirectory;
using test::tiny_image;
using test::tree;

/// For what make_folder() makes: its classes and images are numbered, as parts of a data set may
/// be.
inline PackOptions pack_options(const std::string& format) {
  PackOptions options;
  options.format = format;
  options.list.allow_odd_classes = true;
  return options;
}

/// A source of 3 classes of 10 images, and the place of its dataset of 8 shards.
struct PackPlace {
  TemporaryDirectory directory;
  fs::path source = directory / "source", out = directory / "out",
           partial = directory / "out.partial";
  PackOptions options = pack_options("wds");

  PackPlace() {
    make_folder(source, 3, 10);
    options.plan.shard_samples = 4;
    options.jobs = 2;
  }
  PackReport pack() const { return packhorse::pack(source, out, options); }
  void allow(std::uint64_t rejects) { options.max_rejects.count = rejects; }
  void put_broken(const std::string& name = "c1/broken.jpg") const {
    put(source / name, "not an image");
  }
};

/// The first file below `root` whose name ends in `ending`.
inline fs::path first_file(const fs::path& root, const std::string& ending) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().native().ends_with(ending))
      found.push_back(entry.path());
  }
  REQUIRE_FALSE(found.empty());
  return *std::min_element(found.begin(), found.end());
}

/// The tree that an undisturbed pack of the same source gives.
inline std::string fresh_tree(const PackPlace& place) {
  const TemporaryDirectory directory;
  PackOptions options = place.options;
  options.overwrite = false;
  pack(place.source, directory / "out", options);
  return tree(directory / "out");
}

}  // namespace packhorse

// Reads an epoch with the C++ loader; tests/python compare what packhorse.Loader delivers with it.
// `epoch_probe DATASET JSON` prints a line for each batch: a hash of its pixels, labels and sample
// numbers.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "packhorse/reader/loader.h"

namespace {

using namespace packhorse::reader;  // NOLINT(google-build-using-namespace): a program about it
using Json = nlohmann::json;

Augment augment_of(const Json& options) {
  const std::string name = options.at("augment");
  const int size = options.at("size");
  if (name == "RandomResizedCrop") return RandomResizedCrop{.size = size};
  if (name == "PadCrop") return PadCrop{.size = size, .padding = options.at("padding")};
  return ResizeCenterCrop{options.at("resize"), size};
}

LoaderOptions options_of(const Json& given) {
  LoaderOptions options;
  options.batch_size = given.at("batch_size");
  options.augment = augment_of(given);
  options.pixels = parse_pixel_steps(given.value("pixels", ""));
  const std::string order = given.value("order", "global");
  options.order = order == "window"       ? OrderKind::kWindow
                  : order == "sequential" ? OrderKind::kSequential
                                          : OrderKind::kGlobal;
  const std::string tail = given.value("tail", "keep");
  options.tail = tail == "drop" ? Tail::kDrop : tail == "pad" ? Tail::kPad : Tail::kKeep;
  options.seed = given.at("seed");
  options.rank = given.value("rank", 0);
  options.world = given.value("world", 1);
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Json given = Json::parse(argc == 3 ? argv[2] : "");
  Loader loader(Dataset::open(argv[1]), options_of(given));
  loader.start_epoch(given.at("epoch"), given.value("done", std::uint64_t{0}));
  while (const std::optional<Batch> batch = loader.next()) {
    packhorse::Sha256 hash;
    hash.update(std::as_bytes(batch->images()));
    hash.update(std::as_bytes(batch->labels()));
    hash.update(std::as_bytes(batch->samples()));
    std::puts(hash.finish().c_str());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

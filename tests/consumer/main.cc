#include <cstdio>
#include <optional>

#include "packhorse/packing/pack.h"
#include "packhorse/reader/loader.h"

/// Packs the folder argv[1] into argv[2] and reads one epoch of it back.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  packhorse::PackOptions options;
  options.format = "hdf5";
  const packhorse::PackReport report = packhorse::pack(argv[1], argv[2], options);
  packhorse::reader::LoaderOptions loading;
  loading.batch_size = 16;
  loading.augment = packhorse::reader::RandomResizedCrop{.size = 32};
  loading.tail = packhorse::reader::Tail::kKeep;
  packhorse::reader::Loader loader(packhorse::reader::Dataset::open(report.splits.front().path),
                                   loading);
  loader.start_epoch(0);
  std::int64_t images = 0;
  while (const std::optional<packhorse::reader::Batch> batch = loader.next())
    images += batch->size();
  std::printf("%lld images\n", static_cast<long long>(images));
  return static_cast<std::uint64_t>(images) == report.splits.front().manifest.samples ? 0 : 1;
}

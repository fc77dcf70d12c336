#include "input/prefetcher.h"

#include <chrono>

#include "device/ranges.h"
#include "input/prefetcher_impl.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

/// The prefetcher for the CPU: the model reads the loader's slots directly.
class SlotPrefetcher final : public Prefetcher::Impl {
 public:
  explicit SlotPrefetcher(reader::Loader& loader) : loader_(loader) {}

  void start_epoch(std::uint64_t epoch, std::uint64_t done) override {
    loader_.start_epoch(epoch, done);
  }

  std::optional<DeviceBatch> next() override {
    std::optional<reader::Batch> batch = loader_.next();
    if (!batch) return std::nullopt;
    DeviceBatch out{.images = view_images(*batch),
                    .labels = view_labels(*batch),
                    .size = batch->size(),
                    .after = loader_.state(),
                    .samples = {batch->samples().begin(), batch->samples().end()},
                    .targets = batch->take_targets(),
                    .lease = {}};
    out.lease = std::make_shared<reader::Batch>(std::move(*batch));
    return out;
  }

 private:
  reader::Loader& loader_;
};

}  // namespace

Prefetcher::Prefetcher(reader::Loader& loader, const Device& device, int depth) {
  if (depth < 2) throw Error(ErrorKind::kUsage, "a prefetcher needs two buffers or more");
  if (device.is_cuda()) {
    impl_ = make_upload_prefetcher(loader, device, depth);
  } else {
    impl_ = std::make_unique<SlotPrefetcher>(loader);
  }
}

Prefetcher::~Prefetcher() = default;

void Prefetcher::start_epoch(std::uint64_t epoch, std::uint64_t done) try {
  impl_->start_epoch(epoch, done);
} catch (...) {
  rethrow_as_error();
}

std::optional<DeviceBatch> Prefetcher::next() try {
  const Range range("wait");
  const auto begin = Clock::now();
  std::optional<DeviceBatch> batch = impl_->next();
  impl_->wait_s += std::chrono::duration<double>(Clock::now() - begin).count();
  return batch;
} catch (...) {
  rethrow_as_error();
}

double Prefetcher::wait_seconds() const { return impl_->wait_s; }

double Prefetcher::copy_seconds() const { return impl_->copy_s; }

}  // namespace packhorse::trainer

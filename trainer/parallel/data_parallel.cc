#include "parallel/data_parallel.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace packhorse::trainer {
namespace {

constexpr std::int64_t kFirstBucketBytes = 1
                                           << 20;  // small, so that the first reduction starts soon
constexpr std::int64_t kBucketBytes = 25 << 20;    // PyTorch's default

std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

std::vector<at::Tensor> detached(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const auto& tensor : tensors) all.push_back(tensor.detach());
  return all;
}

}  // namespace

struct DataParallel::Impl {
  Impl(const Processes& among, std::vector<at::Tensor> all, std::vector<at::Tensor> others)
      : processes(among), buffers(std::move(others)) {
    processes.broadcast(detached(all));
    processes.broadcast(buffers);
    const std::vector<bool> sparse(all.size(), false);
    auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
        all, {std::size_t{kFirstBucketBytes}, std::size_t{kBucketBytes}}, sparse));
    // Gradients come last layer first; after the first step the buckets follow their real order.
    std::ranges::reverse(buckets);
    reducer = std::make_shared<c10d::Reducer>(
        std::move(all), std::move(buckets),
        c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(processes.group()), sparse,
        kBucketBytes, /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
        std::unordered_map<std::size_t, std::string>{}, kFirstBucketBytes,
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
        std::vector<std::int64_t>{});
  }

  const Processes& processes;
  std::vector<at::Tensor> buffers;
  std::shared_ptr<c10d::Reducer> reducer;
};

DataParallel::DataParallel(const Processes& processes, const NamedTensors& parameters,
                           const NamedTensors& buffers) {
  if (processes.group() == nullptr) return;
  impl_ = std::make_unique<Impl>(processes, tensors_of(parameters), tensors_of(buffers));
}

DataParallel::~DataParallel() = default;

void DataParallel::before_forward() {
  if (!impl_) return;
  impl_->reducer->prepare_for_forward();
  impl_->reducer->rebuild_buckets();
}

void DataParallel::before_backward(bool reduce) {
  if (impl_ && reduce) impl_->reducer->prepare_for_backward({});
}

void DataParallel::share_buffers() const {
  if (impl_) impl_->processes.broadcast(impl_->buffers);
}

}  // namespace packhorse::trainer

#include "tasks/detect/true_boxes.h"

#include <algorithm>

namespace packhorse::trainer {

std::vector<TrueBoxes> parts_of(const TrueBoxes& truth, std::int64_t places,
                                std::int64_t most_pairs) {
  const auto pictures = static_cast<std::int64_t>(truth.counts.size());
  std::vector<TrueBoxes> parts;
  for (std::int64_t first = 0, end = 0; first < pictures; first = end) {
    std::int64_t rows = 0;
    for (; end < pictures; ++end) {
      const std::int64_t more = std::max(rows, truth.counts[static_cast<std::size_t>(end)]);
      if (end > first && more * places * (end + 1 - first) > most_pairs) break;
      rows = more;
    }
    const auto cut = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, first, end - first).narrow(1, 0, rows);
    };
    parts.push_back({cut(truth.boxes),
                     cut(truth.labels),
                     cut(truth.real),
                     {truth.counts.begin() + first, truth.counts.begin() + end}});
  }
  return parts;
}

}  // namespace packhorse::trainer

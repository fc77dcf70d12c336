#include "tasks/multilabel/label_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace {

constexpr float kNotSaid = -1;  // what is not a number is less sure than all that are

}  // namespace

void LabelScores::add(std::span<const float> scores, std::span<const std::uint8_t> truth) {
  if (scores.size() != classes_ || truth.size() != classes_)
    throw Error(ErrorKind::kUsage, "these are no scores of as many classes");
  for (const float score : scores) scores_.push_back(std::isnan(score) ? kNotSaid : score);
  truth_.insert(truth_.end(), truth.begin(), truth.end());
}

std::optional<double> LabelScores::average_precision(std::size_t label) const {
  std::vector<std::pair<float, std::uint8_t>> all;
  for (std::size_t i = label; i < truth_.size(); i += classes_)
    all.emplace_back(scores_[i], truth_[i]);
  const auto wanted = static_cast<double>(
      std::ranges::count_if(all, [](const auto& one) { return one.second != 0; }));
  if (wanted == 0) return std::nullopt;
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
  double area = 0, found = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;  // equal scores come together
    double more = 0;
    for (; end < all.size() && all[end].first == all[begin].first; ++end) more += all[end].second;
    found += more;
    area += more / wanted * (found / static_cast<double>(end));
    begin = end;
  }
  return area;
}

std::optional<double> LabelScores::mean_average_precision() const {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t label = 0; label < classes_; ++label) {
    if (const auto precision = average_precision(label)) {
      sum += *precision;
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

std::optional<double> LabelScores::f1() const {
  std::uint64_t right = 0, said = 0, wanted = 0;
  for (std::size_t i = 0; i < truth_.size(); ++i) {
    const bool sure = scores_[i] >= 0.5F, is = truth_[i] != 0;
    right += sure && is ? 1 : 0;
    said += sure ? 1 : 0;
    wanted += is ? 1 : 0;
  }
  if (wanted == 0) return std::nullopt;
  return 2 * static_cast<double>(right) / static_cast<double>(said + wanted);
}

std::vector<std::byte> LabelScores::serialise() const {
  std::vector<std::byte> bytes(scores_.size() * sizeof(float) + truth_.size());
  if (bytes.empty()) return bytes;
  std::memcpy(bytes.data(), scores_.data(), scores_.size() * sizeof(float));
  std::memcpy(bytes.data() + scores_.size() * sizeof(float), truth_.data(), truth_.size());
  return bytes;
}

void LabelScores::merge(Bytes bytes) {
  const std::size_t count = bytes.size() / (sizeof(float) + 1);
  if (count * (sizeof(float) + 1) != bytes.size() || count % classes_ != 0)
    throw Error(ErrorKind::kCorrupt, "these are no scores of as many classes");
  if (count == 0) return;
  const std::size_t before = truth_.size();
  scores_.resize(before + count);
  truth_.resize(before + count);
  std::memcpy(scores_.data() + before, bytes.data(), count * sizeof(float));
  std::memcpy(truth_.data() + before, bytes.data() + count * sizeof(float), count);
}

}  // namespace packhorse::trainer

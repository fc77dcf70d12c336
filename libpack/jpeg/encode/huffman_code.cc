#include "jpeg/encode/huffman_code.h"

#include <algorithm>

namespace packhorse::encode {

namespace {

constexpr int kReserved = 256;  // stands for the code of ones only, which nothing may have

struct Leaf {
  std::uint64_t count;
  int symbol;
};

/// Leaves by increasing count; the reserved symbol first, so that its code is one of the longest.
std::vector<Leaf> sorted_leaves(std::span<const std::uint32_t, 256> counts) {
  std::vector<Leaf> leaves{{1, kReserved}};
  for (int symbol = 255; symbol >= 0; --symbol) {
    const std::uint32_t count = counts[static_cast<std::size_t>(symbol)];
    if (count > 0) leaves.push_back({count, symbol});
  }
  std::stable_sort(leaves.begin() + 1, leaves.end(),
                   [](const Leaf& a, const Leaf& b) { return a.count < b.count; });
  return leaves;
}

/// The depth of each leaf in the Huffman tree. Merged nodes come out in increasing order, so two
/// queues replace a heap.
std::vector<std::size_t> depths(const std::vector<Leaf>& leaves) {
  const std::size_t n = leaves.size();
  std::vector<std::uint64_t> weight(2 * n - 1);
  std::vector<std::size_t> parent(2 * n - 1), depth(2 * n - 1);
  for (std::size_t i = 0; i < n; ++i) weight[i] = leaves[i].count;
  std::size_t leaf = 0, inner = n;
  for (std::size_t made = n; made < 2 * n - 1; ++made) {
    for (int child = 0; child < 2; ++child) {
      const bool take_leaf = leaf < n && (inner == made || weight[leaf] <= weight[inner]);
      const std::size_t node = take_leaf ? leaf++ : inner++;
      weight[made] += weight[node];
      parent[node] = made;
    }
  }
  for (std::size_t i = 2 * n - 2; i-- > 0;) depth[i] = depth[parent[i]] + 1;
  depth.resize(n);
  return depth;
}

/// Codes longer than `max_bits` are shortened in pairs, at the cost of a shorter one (T.81 fig.
/// K.3).
void limit_lengths(std::vector<std::size_t>& of_length, std::size_t max_bits) {
  for (std::size_t i = of_length.size() - 1; i > max_bits; --i) {
    while (of_length[i] > 0) {
      std::size_t j = i - 2;
      while (of_length[j] == 0) --j;
      of_length[i] -= 2;
      of_length[i - 1] += 1;
      of_length[j + 1] += 2;
      of_length[j] -= 1;
    }
  }
}

}  // namespace

HuffmanTable optimal_table(std::span<const std::uint32_t, 256> counts, std::size_t max_bits) {
  const std::vector<Leaf> leaves = sorted_leaves(counts);
  const std::vector<std::size_t> depth = depths(leaves);
  std::vector<std::size_t> of_length(std::max(max_bits, *std::ranges::max_element(depth)) + 1);
  for (std::size_t d : depth) ++of_length[d];
  limit_lengths(of_length, max_bits);

  HuffmanTable table;
  std::size_t longest = max_bits;
  while (of_length[longest] == 0) --longest;
  --of_length[longest];  // the reserved code
  // Frequent symbols first: leaves from the back, without the reserved one.
  std::size_t next = leaves.size();
  unsigned code = 0;
  for (std::size_t length = 1; length <= max_bits; ++length, code <<= 1) {
    table.lengths[length] = static_cast<std::uint8_t>(of_length[length]);
    for (std::size_t i = 0; i < of_length[length]; ++i, ++code) {
      const auto symbol = static_cast<std::size_t>(leaves[--next].symbol);
      table.symbols.push_back(static_cast<std::uint8_t>(symbol));
      table.code[symbol] = static_cast<std::uint16_t>(code);
      table.bits[symbol] = static_cast<std::uint8_t>(length);
    }
  }
  return table;
}

}  // namespace packhorse::encode

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/weight_files.h"

namespace packhorse::trainer {
namespace {

/// Each tensor is a member of the header; a tensor's own members are flat, except the shape.
constexpr JsonLimits kLimits{.bytes = 16u << 20, .depth = 4, .members = 100'000};

constexpr std::uint64_t kMostOfEmpty = 1ULL << 40;

at::ScalarType type_named(const std::string& name, const std::filesystem::path& path) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"F32", at::kFloat}, {"F64", at::kDouble}, {"F16", at::kHalf},  {"BF16", at::kBFloat16},
      {"I64", at::kLong},  {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},
      {"U8", at::kByte},   {"BOOL", at::kBool}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) throw_bad_weights(path, "an unknown type: " + name);
  return found->second;
}

at::Tensor read_tensor(const ExactJson& entry, Bytes data, const std::filesystem::path& path) {
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::uint64_t>();
  const at::ScalarType type = type_named(entry.at("dtype").get<std::string>(), path);
  if (begin > end || end > data.size()) throw_bad_weights(path, "it is truncated");
  const bool empty = std::ranges::count(shape, 0) > 0;
  // Of an empty tensor the other sides are bounded, too, as strides are their products.
  const std::uint64_t most = empty ? kMostOfEmpty : end - begin;
  std::uint64_t bytes = c10::elementSize(type);
  for (const std::int64_t side : shape) {
    if (side < 0 || (side > 0 && bytes > most / static_cast<std::uint64_t>(side)))
      throw_bad_weights(path, "a tensor in it has fewer bytes than its shape needs");
    bytes *= static_cast<std::uint64_t>(std::max<std::int64_t>(side, 1));
  }
  if (empty) bytes = 0;
  if (bytes != end - begin)
    throw_bad_weights(path, "a tensor in it has more bytes than its shape needs");
  auto tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data.data() + begin, bytes);
  return tensor;
}

}  // namespace

NamedTensors read_safetensors(const std::filesystem::path& path) try {
  const auto file = read_file(path);
  std::uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes) throw_bad_weights(path, "it is truncated");
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  const Bytes rest = Bytes(file).subspan(sizeof header_bytes);
  if (header_bytes > rest.size()) throw_bad_weights(path, "it is truncated");
  const auto header = parse_json<ExactJson>(as_text(rest.first(header_bytes)), kLimits);
  NamedTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    tensors.emplace_back(name, read_tensor(entry, rest.subspan(header_bytes), path));
  }
  return tensors;
} catch (const ExactJson::exception& error) {
  throw_bad_weights(path, json_problem(error));
} catch (const Error& error) {
  if (!error.path().empty()) throw;
  throw_bad_weights(path, error.what());  // from parse_json()
}

}  // namespace packhorse::trainer

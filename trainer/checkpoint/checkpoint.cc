#include "checkpoint/checkpoint.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <exception>

#include "base/file.h"
#include "base/hash.h"
#include "checkpoint/weight_files.h"
#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

using nlohmann::json;
using GenericDict = c10::impl::GenericDict;

constexpr std::string_view kFormat = "packhorse-train";
constexpr std::int64_t kFormatVersion = 2;

/// LibTorch's messages go on for lines; the first sentence says what is wrong.
std::string first_sentence(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), text.find(". ")));
}

[[noreturn]] void throw_corrupt(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::kCorrupt,
              "this is not a checkpoint of packhorse-train, or a damaged one: " + why, path,
              "use another checkpoint (best.pt or last.pt of the same run), or train again");
}

GenericDict new_dict() { return GenericDict(c10::StringType::get(), c10::AnyType::get()); }

c10::IValue to_ivalue(const json& value) {
  switch (value.type()) {
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return value.get<std::int64_t>();
    case json::value_t::number_float:
      return value.get<double>();
    case json::value_t::string:
      return value.get<std::string>();
    case json::value_t::array: {
      c10::impl::GenericList list(c10::AnyType::get());
      for (const json& item : value) list.push_back(to_ivalue(item));
      return list;
    }
    case json::value_t::object: {
      GenericDict dict = new_dict();
      for (const auto& [key, item] : value.items()) dict.insert(key, to_ivalue(item));
      return dict;
    }
    default:
      return {};
  }
}

json to_json_value(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isNone()) return nullptr;
  if (value.isList()) {
    json list = json::array();
    for (const c10::IValue& item : value.toListRef()) list.push_back(to_json_value(item));
    return list;
  }
  if (value.isGenericDict()) {
    json object = json::object();
    for (const auto& item : value.toGenericDict()) {
      object[item.key().toStringRef()] = to_json_value(item.value());
    }
    return object;
  }
  throw std::runtime_error("an entry of an unknown type");
}

c10::IValue to_ivalue(const NamedTensors& tensors) {
  GenericDict dict = new_dict();
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor.detach().cpu());
  return dict;
}

NamedTensors to_tensors(const c10::IValue& value) {
  NamedTensors tensors;
  for (const auto& item : value.toGenericDict()) {
    tensors.emplace_back(item.key().toStringRef(), item.value().toTensor());
  }
  return tensors;
}

// Sums over values, not over the file's bytes: the checksum holds however the pickle spells them.
class Checksum {
 public:
  void add(std::string_view text) { hash_ = xxh3(as_bytes(fmt::format("{:016x}{}", hash_, text))); }
  void add(const at::Tensor& tensor) {
    const auto flat = tensor.detach().cpu().contiguous();
    const Bytes bytes(static_cast<const std::byte*>(flat.const_data_ptr()), flat.nbytes());
    add(fmt::format("{} {} {:016x}", toString(flat.scalar_type()), fmt::join(flat.sizes(), "x"),
                    xxh3(bytes)));
  }
  void add(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
      add(name);
      add(tensor);
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0;
};

std::string checksum_of(const Checkpoint& checkpoint) {
  Checksum sum;
  sum.add(checkpoint.meta.dump());
  sum.add(checkpoint.model);
  for (const auto& [slot, tensors] : checkpoint.optimizer) {
    sum.add(slot);
    sum.add(tensors);
  }
  sum.add(checkpoint.ema);
  if (checkpoint.scaler.defined()) sum.add(checkpoint.scaler);
  return sum.text();
}

// torch::pickle_save adds a type tag that torch.load(weights_only=True) refuses. This function
// leaves it out.
void save_pt(const std::filesystem::path& path, const c10::IValue& value) {
  std::string pickle;
  std::vector<at::Tensor> tensors;
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickle.append(data, size); }, nullptr, nullptr,
      nullptr,
      [&](const at::Tensor& tensor) {
        tensors.push_back(tensor);
        return std::to_string(tensors.size() - 1);
      },
      /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();

  AtomicFile file(path);
  // The zip writer swallows exceptions thrown below it, so the first one is kept here.
  std::exception_ptr failure;
  const auto write = [&](const void* data, std::size_t size) -> std::size_t {
    try {
      if (!failure) file.write(Bytes(static_cast<const std::byte*>(data), size));
    } catch (...) {
      failure = std::current_exception();
    }
    return size;
  };
  caffe2::serialize::PyTorchStreamWriter zip(write);
  zip.writeRecord("data.pkl", pickle.data(), pickle.size());
  zip.writeRecord("byteorder", "little", 6);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& storage = tensors[i].storage();
    zip.writeRecord("data/" + std::to_string(i), storage.data(), storage.nbytes());
  }
  zip.writeEndOfFile();
  if (failure) std::rethrow_exception(failure);
  file.commit();
}

Checkpoint parse(const c10::IValue& value) {
  Checkpoint checkpoint;
  for (const auto& item : value.toGenericDict()) {
    const std::string& key = item.key().toStringRef();
    if (key == "model") {
      checkpoint.model = to_tensors(item.value());
    } else if (key == "optimizer") {
      for (const auto& slot : item.value().toGenericDict()) {
        checkpoint.optimizer[slot.key().toStringRef()] = to_tensors(slot.value());
      }
    } else if (key == "ema") {
      checkpoint.ema = to_tensors(item.value());
    } else if (key == "scaler") {
      checkpoint.scaler = item.value().toTensor();
    } else {
      checkpoint.meta[key] = to_json_value(item.value());
    }
  }
  return checkpoint;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  GenericDict top = new_dict();
  top.insert("format", std::string(kFormat));
  top.insert("format_version", kFormatVersion);
  top.insert("checksum", checksum_of(checkpoint));
  for (const auto& [key, value] : checkpoint.meta.items()) top.insert(key, to_ivalue(value));
  if (checkpoint.scaler.defined()) top.insert("scaler", checkpoint.scaler);
  GenericDict optimizer = new_dict();
  for (const auto& [slot, tensors] : checkpoint.optimizer)
    optimizer.insert(slot, to_ivalue(tensors));
  top.insert("optimizer", optimizer);
  if (!checkpoint.ema.empty()) top.insert("ema", to_ivalue(checkpoint.ema));
  top.insert("model", to_ivalue(checkpoint.model));
  save_pt(path, top);
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  try {
    checkpoint = parse(read_torch_zip(path));
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw_corrupt(path, first_sentence(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw_corrupt(path, error.what());
  }
  json& meta = checkpoint.meta;
  if (meta.value("format", json()) != kFormat) throw_corrupt(path, "another program wrote it");
  if (meta.value("format_version", json()) != kFormatVersion) {
    throw Error(ErrorKind::kUnsupported, "another version of packhorse-train wrote this checkpoint",
                path, "use that version");
  }
  const json checksum = meta.value("checksum", json());
  for (const char* key : {"format", "format_version", "checksum"}) meta.erase(key);
  if (checksum != checksum_of(checkpoint)) throw_corrupt(path, "its checksum does not match");
  return checkpoint;
}

}  // namespace packhorse::trainer

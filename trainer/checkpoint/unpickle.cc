#include "checkpoint/unpickle.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace packhorse::trainer {
namespace {

using GenericDict = c10::impl::GenericDict;
using GenericList = c10::impl::GenericList;

/// Limits that files of torch.save() stay far below: they nest a handful deep and take some 25
/// instructions per tensor. The number of instructions bounds a pickle's memory, at some 300 bytes
/// each.
constexpr std::size_t kMostNested = 64;
constexpr std::size_t kMostInstructions = std::size_t{1} << 20;
constexpr std::size_t kMostWeight = std::size_t{1} << 26;
constexpr std::size_t kMostSharers = 64;  ///< whole tensors that may lie in the same bytes

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

/// Reads forward, never beyond the end.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) fail("its pickle is truncated");
    const auto* begin = reinterpret_cast<const char*>(bytes_.data());
    bytes_ = bytes_.subspan(size);
    return {begin, size};
  }
  template <class Int>
  Int number() {  // little-endian
    Int value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  double big_endian_double() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    return std::bit_cast<double>(bits);
  }
  std::string line() {
    std::string text;
    for (char c = take(1)[0]; c != '\n'; c = take(1)[0]) text += c;
    return text;
  }
  std::int64_t long_number() {  // LONG1: little-endian two's complement of any size
    const std::string_view bytes = take(number<std::uint8_t>());
    if (bytes.size() > 8) return 0;  // no size or offset is that large
    std::uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return static_cast<std::int64_t>(value);
  }

 private:
  Bytes bytes_;
};

/// The cost of a walk over a value and all that it contains: each thing counts as often as it is
/// reached. Values share parts, so a short pickle can make a value that no walk would finish.
struct Extent {
  std::size_t depth = 0;   ///< containers inside containers
  std::size_t weight = 1;  ///< values, and characters of texts
  bool contained = false;  ///< part of another value, which knows its extent, so it may not grow
};

/// An entry of the stack: a value, or the name of a class or function.
struct Item {
  c10::IValue value{};
  bool global = false;               ///< a name, as text in `value`
  std::shared_ptr<Extent> extent{};  ///< a container's extent, shared by all that name it
};

/// The scalar type of the storage that a tensor lies in.
at::ScalarType type_of_storage(const std::string& global) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"torch.FloatStorage", at::kFloat}, {"torch.DoubleStorage", at::kDouble},
      {"torch.HalfStorage", at::kHalf},   {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},   {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort}, {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},   {"torch.BoolStorage", at::kBool}};
  const auto found = kTypes.find(global);
  if (found == kTypes.end()) fail("it has tensors of an unknown type: " + global);
  return found->second;
}

std::vector<std::int64_t> to_numbers(const c10::IValue& tuple) {
  std::vector<std::int64_t> numbers;
  for (const c10::IValue& item : tuple.toTupleRef().elements()) numbers.push_back(item.toInt());
  return numbers;
}

class Machine {
 public:
  Machine(Bytes pickle, const StorageSource& storages) : in_(pickle), storages_(storages) {}

  c10::IValue run() {
    if (in_.number<std::uint8_t>() != 0x80 || in_.number<std::uint8_t>() != 2) {
      fail("its pickle does not use protocol 2");
    }
    for (std::size_t done = 0;; ++done) {
      if (done == kMostInstructions) fail("its pickle is too long");
      const auto opcode = in_.number<std::uint8_t>();
      if (opcode == '.') return pop().value;
      if (!constant(opcode) && !memory(opcode) && !container(opcode) && !object(opcode)) {
        fail(fmt::format("its pickle has an unknown instruction, 0x{:02x}", opcode));
      }
    }
  }

 private:
  bool constant(std::uint8_t opcode) {
    switch (opcode) {
      case 'N':
        return push({});
      case 0x88:
        return push(true);
      case 0x89:
        return push(false);
      case 'K':
        return push(static_cast<std::int64_t>(in_.number<std::uint8_t>()));
      case 'M':
        return push(static_cast<std::int64_t>(in_.number<std::uint16_t>()));
      case 'J':
        return push(static_cast<std::int64_t>(in_.number<std::int32_t>()));
      case 0x8a:
        return push(in_.long_number());
      case 'G':
        return push(in_.big_endian_double());
      case 'X':
        return push(std::string(in_.take(in_.number<std::uint32_t>())));
      case 'c': {
        const std::string module = in_.line();
        stack_.push_back({.value = module + "." + in_.line(), .global = true});
        return true;
      }
      default:
        return false;
    }
  }

  bool memory(std::uint8_t opcode) {
    switch (opcode) {
      case 'q':
        memo_[in_.number<std::uint8_t>()] = top();
        return true;
      case 'r':
        memo_[in_.number<std::uint32_t>()] = top();
        return true;
      case 'h':
        return recall(in_.number<std::uint8_t>());
      case 'j':
        return recall(in_.number<std::uint32_t>());
      case '0':
        pop();
        return true;
      default:
        return false;
    }
  }

  bool container(std::uint8_t opcode) {
    switch (opcode) {
      case '}':
        return push_container(new_dict(), {});
      case ']':
        return push_container(GenericList(c10::AnyType::get()), {});
      case ')':
        return push_tuple(0);
      case 0x85:
      case 0x86:
      case 0x87:
        return push_tuple(opcode - 0x84U);
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 't':
        return push_tuple(behind_mark());
      case 's':
        return set_items(2);
      case 'u':
        return set_items(behind_mark());
      case 'a':
        return append(1);
      case 'e':
        return append(behind_mark());
      default:
        return false;
    }
  }

  bool object(std::uint8_t opcode) {
    switch (opcode) {
      case 'Q':
        return true;  // the tuple that names a storage is its own value here
      case 'R':
      case 0x81: {
        const Item arguments = pop();
        stack_.push_back(call(pop(), arguments));
        return true;
      }
      case 'b':  // attributes of an object, such as a state dict's _metadata
        pop();
        return true;
      default:
        return false;
    }
  }

  static GenericDict new_dict() { return GenericDict(c10::AnyType::get(), c10::AnyType::get()); }

  Item call(const Item& function, const Item& arguments) {
    if (!function.global) return {};
    const std::string& name = function.value.toStringRef();
    if (name == "collections.OrderedDict") {
      return {.value = new_dict(), .extent = std::make_shared<Extent>()};
    }
    if (name == "torch._utils._rebuild_tensor_v2")
      return {.value = rebuild_tensor(arguments.value)};
    if (name == "torch._utils._rebuild_parameter") {
      return {.value = arguments.value.toTupleRef().elements().at(0).toTensor()};
    }
    return {};
  }

  // (("storage", class, key, location, size), offset, sizes, strides, ...)
  at::Tensor rebuild_tensor(const c10::IValue& arguments) {
    const auto& parts = arguments.toTupleRef().elements();
    const auto& source = parts.at(0).toTupleRef().elements();
    const at::ScalarType type = type_of_storage(source.at(1).toStringRef());
    const auto sizes = to_numbers(parts.at(2)), strides = to_numbers(parts.at(3));
    const std::int64_t offset = parts.at(1).toInt();
    const auto negative = [](std::int64_t n) { return n < 0; };
    if (sizes.size() != strides.size() || offset < 0 || std::ranges::any_of(sizes, negative) ||
        std::ranges::any_of(strides, negative)) {
      fail("it has a tensor of an impossible shape");
    }
    const std::string& key = source.at(2).toStringRef();
    const c10::Storage storage = storages_(key);
    const std::size_t needed = at::detail::computeStorageNbytes(
        sizes, strides, c10::elementSize(type), static_cast<std::size_t>(offset));
    // Strides of 0 make many numbers out of few bytes.
    const std::size_t dense =
        at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type));
    if (std::max(needed, dense) > storage.nbytes()) {
      fail("it has a tensor that is larger than its bytes");
    }
    // Tensors may share a storage (tied weights, parts of one buffer), within reason.
    if ((read_of_[key] += dense) > kMostSharers * storage.nbytes()) {
      fail("too many of its tensors share the same bytes");
    }
    return at::empty({0}, type).set_(storage, offset, sizes, strides);
  }

  bool push(c10::IValue value) {
    stack_.push_back({.value = std::move(value)});
    return true;
  }
  /// Pushes a new container of these items.
  bool push_container(c10::IValue value, const std::vector<Item>& items) {
    stack_.push_back({.value = std::move(value), .extent = std::make_shared<Extent>()});
    grow(stack_.back(), items);
    return true;
  }
  /// Accounts for items that go into a container. A value inside another one may not change any
  /// more. So no value can contain itself, and destroying and walking go no deeper than
  /// kMostNested.
  static void grow(const Item& container, const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (item.extent) item.extent->contained = true;
    }
    Extent& extent = *container.extent;
    if (extent.contained) fail("its pickle changes a value that is part of another");
    for (const Item& item : items) {
      extent.weight += weight_of(item);
      extent.depth = std::max(extent.depth, item.extent ? item.extent->depth + 1 : 1);
    }
    if (extent.depth > kMostNested) fail("its pickle is nested too deeply");
    if (extent.weight > kMostWeight) fail("its pickle repeats itself too often");
  }
  static std::size_t weight_of(const Item& item) {
    if (item.extent) return item.extent->weight;
    return item.value.isString() ? 1 + item.value.toStringRef().size() : 1;
  }
  Item& top() {
    if (stack_.empty()) fail("its pickle is damaged");
    return stack_.back();
  }
  Item pop() {
    Item item = std::move(top());
    stack_.pop_back();
    return item;
  }
  bool recall(std::uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("its pickle is damaged");
    stack_.push_back(found->second);
    return true;
  }
  std::size_t behind_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) fail("its pickle is damaged");
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }
  /// Takes the last `count` items off the stack, in order.
  std::vector<Item> take(std::size_t count) {
    if (count > stack_.size()) fail("its pickle is damaged");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Item> items(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    return items;
  }
  bool push_tuple(std::size_t count) {
    const auto items = take(count);
    std::vector<c10::IValue> values;
    values.reserve(items.size());
    for (const Item& item : items) values.push_back(item.value);
    return push_container(c10::ivalue::Tuple::create(std::move(values)), items);
  }
  bool set_items(std::size_t count) {
    const auto items = take(count);
    if (!top().value.isGenericDict()) return true;  // an object of a class that is not known
    grow(top(), items);
    auto dict = top().value.toGenericDict();
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      dict.insert_or_assign(items[i].value, items[i + 1].value);
    }
    return true;
  }
  bool append(std::size_t count) {
    const auto items = take(count);
    if (!top().value.isList()) return true;
    grow(top(), items);
    auto list = top().value.toList();
    for (const Item& item : items) list.push_back(item.value);
    return true;
  }

  Cursor in_;
  const StorageSource& storages_;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, Item> memo_;
  std::map<std::string, std::size_t> read_of_;  ///< bytes of tensors, by the key of their storage
};

}  // namespace

c10::IValue unpickle(Bytes pickle, const StorageSource& storages) {
  return Machine(pickle, storages).run();
}

}  // namespace packhorse::trainer

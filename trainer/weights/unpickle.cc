#include "weights/unpickle.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace packhorse::trainer {
namespace {

using GenericDict = c10::impl::GenericDict;
using GenericList = c10::impl::GenericList;

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

/// Reads forward; never beyond the end.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) fail("its pickle is cut");
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

/// On the stack: a value, or the name of a class or function.
struct Item {
  c10::IValue value{};
  std::string global{};
};

/// A storage that a tensor lies in.
at::ScalarType type_of_storage(const std::string& global) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"torch.FloatStorage", at::kFloat}, {"torch.DoubleStorage", at::kDouble},
      {"torch.HalfStorage", at::kHalf},   {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},   {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort}, {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},   {"torch.BoolStorage", at::kBool}};
  const auto found = kTypes.find(global);
  if (found == kTypes.end()) fail("it has tensors of a type that is not known: " + global);
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
      fail("its pickle is not of protocol 2");
    }
    for (;;) {
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
        stack_.push_back({.global = module + "." + in_.line()});
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
        return push(GenericDict(c10::AnyType::get(), c10::AnyType::get()));
      case ']':
        return push(GenericList(c10::AnyType::get()));
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
        const c10::IValue arguments = pop().value;
        return push(call(pop().global, arguments));
      }
      case 'b':  // attributes of an object, such as a state dict's _metadata
        pop();
        return true;
      default:
        return false;
    }
  }

  c10::IValue call(const std::string& function, const c10::IValue& arguments) {
    if (function == "collections.OrderedDict") {
      return GenericDict(c10::AnyType::get(), c10::AnyType::get());
    }
    if (function == "torch._utils._rebuild_tensor_v2") return rebuild_tensor(arguments);
    if (function == "torch._utils._rebuild_parameter") {
      return arguments.toTupleRef().elements().at(0);
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
    const c10::Storage storage = storages_(source.at(2).toStringRef());
    if (at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type),
                                         static_cast<std::size_t>(offset)) > storage.nbytes()) {
      fail("it has a tensor that is larger than its bytes");
    }
    return at::empty({0}, type).set_(storage, offset, sizes, strides);
  }

  bool push(c10::IValue value) {
    stack_.push_back({.value = std::move(value)});
    return true;
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
  /// The last `count` items in order, taken off the stack. A class is given by its name.
  std::vector<c10::IValue> take(std::size_t count) {
    if (count > stack_.size()) fail("its pickle is damaged");
    std::vector<c10::IValue> values;
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      values.push_back(stack_[i].global.empty() ? stack_[i].value : c10::IValue(stack_[i].global));
    }
    stack_.resize(stack_.size() - count);
    return values;
  }
  bool push_tuple(std::size_t count) { return push(c10::ivalue::Tuple::create(take(count))); }
  bool set_items(std::size_t count) {
    const auto items = take(count);
    if (!top().value.isGenericDict()) return true;  // an object of a class that is not known
    auto dict = top().value.toGenericDict();
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      dict.insert_or_assign(items[i], items[i + 1]);
    return true;
  }
  bool append(std::size_t count) {
    const auto items = take(count);
    if (!top().value.isList()) return true;
    auto list = top().value.toList();
    for (const c10::IValue& item : items) list.push_back(item);
    return true;
  }

  Cursor in_;
  const StorageSource& storages_;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, Item> memo_;
};

}  // namespace

c10::IValue unpickle(Bytes pickle, const StorageSource& storages) {
  return Machine(pickle, storages).run();
}

}  // namespace packhorse::trainer

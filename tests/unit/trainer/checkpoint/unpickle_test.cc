#include "checkpoint/unpickle.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <caffe2/serialize/inline_container.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "packhorse/trainer/checkpoint/weights.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

const std::string kBegin = "\x80\x02";

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// Unpickles with storages of 16 zeros.
c10::IValue read(const std::string& pickle) {
  return unpickle(as_bytes(pickle), [](const std::string&) { return at::zeros({4}).storage(); });
}

/// The reason why the pickle is refused; "" when it is not.
std::string refusal(const std::string& pickle) {
  try {
    read(pickle);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string text(const std::string& value) {
  return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
}

/// The pickle of a float tensor in storage "0", with these sizes and strides (single bytes).
std::string tensor(const std::string& sizes, const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" +
         text("0") + text("cpu") + "K\x04tQK" + std::string(1, '\0') + "(" + sizes + "t(" +
         strides + "t\x89}tR";
}

/// Writes the file that torch.save() would make of this pickle.
void put_torch_zip(const std::filesystem::path& path, const std::string& pickle) {
  std::string zip;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    zip.append(static_cast<const char*>(data), size);
    return size;
  });
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  writer.writeEndOfFile();
  test::put(path, zip);
}

}  // namespace

TEST_CASE("unpickle: containers nested as deep as the bound come back, deeper ones are refused") {
  const auto tuples = [](std::size_t n) { return kBegin + ")" + repeated("\x85", n) + "."; };
  const auto lists = [](std::size_t n) {
    return kBegin + repeated("]", n) + repeated("a", n - 1) + ".";
  };
  const auto dicts = [](std::size_t n) {
    return kBegin + repeated("}K\x01", n) + "N" + repeated("s", n) + ".";
  };
  CHECK(read(tuples(64)).isTuple());
  CHECK(read(lists(65)).isList());
  CHECK(read(dicts(64)).isGenericDict());
  for (const std::size_t deep : {std::size_t{65}, std::size_t{200'000}}) {
    CHECK(refusal(tuples(deep)) == "its pickle is nested too deeply");
    CHECK(refusal(lists(deep + 1)) == "its pickle is nested too deeply");
    CHECK(refusal(dicts(deep)) == "its pickle is nested too deeply");
  }
}

TEST_CASE("unpickle: a value cannot contain itself, at once or through others") {
  const std::string why = "its pickle changes a value that is part of another";
  CHECK(refusal(kBegin + "]q\x01h\x01" + "a.") == why);
  CHECK(refusal(kBegin + "]q\x01]q\x02h\x01" + "a0h\x01h\x02" + "a.") == why);
  CHECK(refusal(kBegin + "}q\x01K\x01h\x01s.") == why);
  // A list goes into a tuple that is taken for a parameter, and comes out of it again.
  CHECK(refusal(kBegin + "ctorch._utils\n_rebuild_parameter\n]q\x01\x85Rh\x01" + "a.") != "");
}

TEST_CASE("unpickle: a value that only repeats its parts is bounded by what a walk over it costs") {
  // Each list holds the one before it twice.
  std::string doubled = kBegin + "]";
  for (int i = 0; i < 40; ++i)
    doubled += "q\x01]h\x01" + std::string(
                                   "ah\x01"
                                   "a");
  CHECK(refusal(doubled + ".") == "its pickle repeats itself too often");
  std::string few = kBegin + "]";
  for (int i = 0; i < 10; ++i)
    few += "q\x01]h\x01" + std::string(
                               "ah\x01"
                               "a");
  CHECK(read(few + ".").isList());
}

TEST_CASE("unpickle: no more instructions are followed than any file of weights has") {
  CHECK(refusal(kBegin + repeated("}", 1'100'000)) == "its pickle is too long");
  CHECK(refusal(kBegin + repeated("(", 1'100'000)) == "its pickle is too long");
}

TEST_CASE("unpickle: a tensor has no more numbers than its storage, nor many tensors the same") {
  CHECK(read(kBegin + tensor("K\x04", "K\x01") + ".").toTensor().equal(at::zeros({4})));
  const std::string larger = "it has a tensor that is larger than its bytes";
  CHECK(refusal(kBegin + tensor("K\x05", "K\x01") + ".") == larger);
  CHECK(refusal(kBegin + tensor("J\xff\xff\xff\x7f", std::string("K\0", 2)) + ".") == larger);
  CHECK(refusal(kBegin + repeated(tensor("K\x04", "K\x01"), 64) + ".") == "");
  CHECK(refusal(kBegin + repeated(tensor("K\x04", "K\x01"), 66) + ".") ==
        "too many of its tensors share the same bytes");
}

TEST_CASE("unpickle: nested pickles of megabytes are damaged weights and damaged checkpoints") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "nested.pt";
  for (const std::string& pickle : {kBegin + ")" + repeated("\x85", 8'000'000 / test::kEvery) + ".",
                                    kBegin + repeated("}" + text("model"), 500'000 / test::kEvery) +
                                        "N" + repeated("s", 500'000 / test::kEvery) + ".",
                                    kBegin + repeated("]", 4'000'000 / test::kEvery) +
                                        repeated("a", 4'000'000 / test::kEvery - 1) + "."}) {
    put_torch_zip(path, pickle);
    CHECK(test::kind_of_error([&] { read_weights(path); }) == ErrorKind::kCorrupt);
    CHECK(test::kind_of_error([&] { read_checkpoint(path); }) == ErrorKind::kCorrupt);
  }
}

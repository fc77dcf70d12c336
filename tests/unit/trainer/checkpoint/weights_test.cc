#include "packhorse/trainer/checkpoint/weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/rand_like.h>

#include <cstring>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "input/normalize.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

NamedTensors state_of(const Model& model) {
  NamedTensors all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

void write_weights(const std::filesystem::path& path, const NamedTensors& tensors) {
  Checkpoint checkpoint;
  checkpoint.model = tensors;
  write_checkpoint(path, checkpoint);
}

/// Writes a safetensors file with this header, followed by these numbers.
void put_safetensors(const std::filesystem::path& path, const std::string& header,
                     const std::vector<float>& numbers) {
  const std::uint64_t size = header.size();
  std::string text(reinterpret_cast<const char*>(&size), sizeof size);
  text += header;
  text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  test::put(path, text);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return std::string(error.what()) + " " + error.advice();
  }
  return "";
}

}  // namespace

TEST_CASE("weights: a checkpoint's tensors go into another model of the same arch") {
  const test::TemporaryDirectory directory;
  at::manual_seed(1);
  const auto one = make_model("smallnet", 4);
  const auto two = make_model("smallnet", 4);
  write_weights(directory / "w.pt", state_of(*one));
  CHECK(load_weights(*two, directory / "w.pt").kept.empty());
  const NamedTensors a = state_of(*one), b = state_of(*two);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].second.equal(b[i].second));
}

TEST_CASE("weights: a head of other classes stays new when told to, and is refused otherwise") {
  const test::TemporaryDirectory directory;
  const auto trained = make_model("smallnet", 1000);
  write_weights(directory / "w.pt", state_of(*trained));
  const auto model = make_model("smallnet", 4);
  const at::Tensor before = model->named_parameters()["features.0.weight"].detach().clone();
  const std::string message = message_of([&] { load_weights(*model, directory / "w.pt"); });
  CHECK(message.find("'fc.bias' (1000, not 4)") != std::string::npos);
  CHECK(message.find("`new_head=`") != std::string::npos);
  CHECK(model->named_parameters()["features.0.weight"].equal(before));  // nothing was changed
  const auto kept = load_weights(*model, directory / "w.pt", {Head::kNew}).kept;
  CHECK(kept == std::vector<std::string>{"fc.weight", "fc.bias"});
  CHECK_FALSE(model->named_parameters()["features.0.weight"].equal(before));
}

TEST_CASE("weights: a new head stays new where the file's would fit, too") {
  const test::TemporaryDirectory directory;
  at::manual_seed(3);
  write_weights(directory / "w.pt", state_of(*make_model("smallnet", 4)));
  const auto model = make_model("smallnet", 4);
  const at::Tensor head = model->named_parameters()["fc.weight"].detach().clone();
  const auto loaded = load_weights(*model, directory / "w.pt", {Head::kNew});
  CHECK(loaded.kept == std::vector<std::string>{"fc.weight", "fc.bias"});
  CHECK(loaded.classes.empty());  // a state dict does not name them
  CHECK(model->named_parameters()["fc.weight"].equal(head));
  load_weights(*model, directory / "w.pt");
  CHECK_FALSE(model->named_parameters()["fc.weight"].equal(head));
}

TEST_CASE("weights: missing, unexpected and misshapen tensors are named, some of many") {
  const test::TemporaryDirectory directory;
  const auto model = make_model("resnet18", 4);
  write_weights(directory / "w.pt", state_of(*make_model("smallnet", 4)));
  const std::string message = message_of([&] { load_weights(*model, directory / "w.pt"); });
  CHECK(message.find("missing: 'conv1.weight', 'bn1.weight', 'bn1.bias' and ") !=
        std::string::npos);
  CHECK(message.find("with another shape: 'fc.weight' (4x128, not 4x512)") != std::string::npos);
  CHECK(message.find("not in the network: 'features.0.weight', ") != std::string::npos);
  CHECK(message.find("`arch=") != std::string::npos);
}

TEST_CASE("weights: norms without num_batches_tracked are taken, as PyTorch takes them") {
  const test::TemporaryDirectory directory;
  const auto model = make_model("smallnet", 4);
  NamedTensors state = state_of(*model);
  std::erase_if(state, [](const auto& item) { return item.first.ends_with("batches_tracked"); });
  write_weights(directory / "w.pt", state);
  CHECK(load_weights(*model, directory / "w.pt").kept.size() == 6);
}

TEST_CASE("weights: those for BGR from 0 to 255 are converted, of networks that have such") {
  const test::TemporaryDirectory directory;
  at::manual_seed(2);
  const auto given = make_model("yolox-nano", 2);
  const std::string conv = given->stem() + ".conv.weight",
                    mean = given->stem() + ".bn.running_mean";
  at::Tensor& middle = given->named_buffers()[mean];
  middle.copy_(at::rand_like(middle) * 2 - 1);
  write_weights(directory / "w.pt", state_of(*given));
  const auto model = make_model("yolox-nano", 2);
  load_weights(*model, directory / "w.pt", {.pixels = PixelKind::kBgr255});

  const at::Tensor rgb = at::rand({1, 3, 8, 8});
  const auto stacked = [](const at::Tensor& x) {
    return at::cat({x, x * 0.5, x * 0.25, x * 2}, 1);
  };
  const auto of_stem = [&](Model& of, const at::Tensor& pixels) {
    return at::conv2d(pixels, of.named_parameters()[conv].detach()) -
           of.named_buffers()[mean].view({1, -1, 1, 1});
  };
  at::Tensor normalised = at::empty({1, 12, 8, 8});
  const at::Tensor all = stacked(rgb);
  const Normalization numbers;
  for (int channel = 0; channel < 12; ++channel) {
    const auto c = static_cast<std::size_t>(channel % 3);
    normalised.select(1, channel)
        .copy_((all.select(1, channel) - numbers.mean.at(c)) / numbers.stddev.at(c));
  }
  const at::Tensor bgr255 = stacked(rgb.flip({1}) * 255);
  const at::Tensor wanted = of_stem(*given, bgr255), found = of_stem(*model, normalised);
  CHECK(at::allclose(found, wanted, 1e-4, 1e-3));
  CHECK_FALSE(at::allclose(of_stem(*given, normalised), wanted, 1e-4, 1e-3));

  write_weights(directory / "s.pt", state_of(*make_model("smallnet", 4)));
  const auto other = make_model("smallnet", 4);
  const auto load_other = [&] {
    load_weights(*other, directory / "s.pt", {.pixels = PixelKind::kBgr255});
  };
  CHECK(message_of(load_other).find("leave out `bgr_weights=`") != std::string::npos);
  const auto load_misfit = [&] {
    load_weights(*model, directory / "s.pt", {.pixels = PixelKind::kBgr255});
  };
  CHECK(message_of(load_misfit).find("no weights of this network") != std::string::npos);
}

TEST_CASE("weights: safetensors files are read, and those that lie about sizes refused") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "w.safetensors";
  const auto read = [&] { read_weights(path); };
  put_safetensors(path,
                  R"({"__metadata__":{"format":"pt"},)"
                  R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
                  R"("b":{"dtype":"F32","shape":[2,0,4],"data_offsets":[4,4]}})",
                  {7, 1, 2});
  const NamedTensors tensors = read_weights(path);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[1].second.sizes() == at::IntArrayRef{2, 0, 4});
  CHECK(tensors[0].first == "a");
  CHECK(tensors[0].second.equal(at::arange(1, 3, at::kFloat).reshape({2, 1})));
  for (const char* lie :
       {R"("shape":[3],"data_offsets":[4,12])", R"("shape":[1],"data_offsets":[4,12])",
        R"("shape":[2],"data_offsets":[8,16])", R"("shape":[2],"data_offsets":[12,4])",
        R"("shape":[-2],"data_offsets":[4,12])", R"("shape":[0,-2],"data_offsets":[4,4])",
        R"("shape":[0,2],"data_offsets":[4,12])",
        R"("shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[4,4])",
        R"("shape":[4611686018427387904,4],"data_offsets":[4,12])"}) {
    CAPTURE(lie);
    put_safetensors(path, std::string(R"({"a":{"dtype":"F32",)") + lie + "}}", {7, 1, 2});
    CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
  }
  put_safetensors(path, R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[4,12]}})", {7, 1, 2});
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
  put_safetensors(path, R"({"a":)", {});
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
  put_safetensors(path, R"({"a": 12345678)", {});
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
}

TEST_CASE("weights: no flipped or missing byte of a file gives other tensors") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "w.pt";
  const NamedTensors written = {{"a", at::arange(1, 9, at::kFloat).reshape({2, 4}).t()},
                                {"b", at::full({3}, 5, at::kLong)}};
  write_weights(path, written);
  const auto size = std::filesystem::file_size(path);
  const auto same = [&](const NamedTensors& read) {
    if (read.size() != written.size()) return false;
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i].first != written[i].first || !read[i].second.equal(written[i].second)) {
        return false;
      }
    }
    return true;
  };
  CHECK(same(read_weights(path)));
  int refused = 0;
  for (std::uint64_t at = 0; at < size; at += 3) {
    test::flip_byte(path, at);
    try {
      const NamedTensors read = read_weights(path);
      CHECK_MESSAGE(same(read), "byte " << at);
    } catch (const Error& error) {
      CHECK(error.path() == path);
      ++refused;
    }
    test::flip_byte(path, at);
  }
  CHECK(refused > 100);
  test::truncate(path, size / 2);
  CHECK(test::kind_of_error([&] { read_weights(path); }) == ErrorKind::kCorrupt);
}

// What a step may not do where it is captured as a CUDA graph, watched on the CPU.
#include <ATen/ops/randint.h>
#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "input/prefetcher.h"
#include "train/engine.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr int kSize = 16;

/// Operators that wait for numbers of the device, or whose result has a size that depends on them.
constexpr std::array<std::string_view, 12> kWaiting = {
    "aten::_local_scalar_dense", "aten::_unique2",   "aten::bincount",      "aten::equal",
    "aten::is_nonzero",          "aten::item",       "aten::masked_select", "aten::nonzero",
    "aten::repeat_interleave",   "aten::unique_dim", "aten::allclose",      "aten::_assert_async"};

/// Records the operators that are called on this thread, without those that they call themselves:
/// these are other ones on a GPU.
class Recorder {
 public:
  Recorder()
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}))) {
    depth() = 0;
    names().clear();
  }
  ~Recorder() { at::removeCallback(handle_); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  static std::size_t calls() { return names().size(); }
  static std::vector<std::string> waiting() {
    std::vector<std::string> found;
    std::ranges::copy_if(names(), std::back_inserter(found), [](const std::string& name) {
      return std::ranges::find(kWaiting, name) != kWaiting.end();
    });
    return found;
  }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
  static std::vector<std::string>& names() {
    thread_local std::vector<std::string> names;
    return names;
  }
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (depth()++ == 0) names().emplace_back(function.name());
    return nullptr;
  }
  static void end(const at::RecordFunction&, at::ObserverContext*) { --depth(); }

  at::CallbackHandle handle_;
};

/// The operators of a step after two others, as a capture has it.
std::vector<std::string> waiting_in(const RecipeChoices& choices) {
  const Recipe recipe = resolve(choices, {});
  Engine engine(recipe, 3, {});
  const DeviceBatch batch{.images = at::randint(256, {4, kSize, kSize, 3}).to(at::kByte),
                          .labels = at::randint(3, {4}, at::kLong),
                          .size = 4};
  const auto step = [&](std::int64_t number) {
    engine.train(batch, {.step = number, .part = 0, .lr = recipe.lr});
  };
  step(0);
  step(1);
  const Recorder recorder;
  step(2);
  CHECK(Recorder::calls() > 50);
  return Recorder::waiting();
}

RecipeChoices small(const std::string& arch) {
  RecipeChoices choices;
  choices.arch = arch;
  choices.image_size = kSize;
  choices.batch_size = 4;
  return choices;
}

}  // namespace

TEST_CASE("capture: no step of a recipe waits for the device") {
  for (const OptimizerKind optimizer :
       {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLars}) {
    for (const Amp amp : {Amp::kOff, Amp::kBf16, Amp::kFp16}) {
      RecipeChoices choices = small("smallnet");
      choices.optimizer = optimizer;
      choices.amp = amp;
      choices.clip_norm = amp == Amp::kOff ? 1.0 : 0.0;
      choices.label_smoothing = 0.1;
      choices.ema_decay = 0.99;
      CAPTURE(static_cast<int>(optimizer));
      CAPTURE(static_cast<int>(amp));
      CHECK(waiting_in(choices) == std::vector<std::string>{});
    }
  }
}

TEST_CASE("capture: no network waits for the device") {
  for (const char* arch : {"resnet18", "mobilenet_v2", "vit_s16"}) {
    CAPTURE(arch);
    CHECK(waiting_in(small(arch)) == std::vector<std::string>{});
  }
}

TEST_CASE("capture: the recorder sees what waits") {
  const Recorder recorder;
  const at::Tensor three = at::randint(3, 4, {1}, at::kLong);
  CHECK(three.item<std::int64_t>() == 3);
  CHECK_FALSE(Recorder::waiting().empty());
}

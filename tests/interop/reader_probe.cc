// Prints what the reader's crops and mixtures of a batch draw and do; Python tests compare that
// with torchvision. `reader_probe WHAT JSON`: pixels come from stdin and go to stdout as raw bytes;
// draws go to stdout, one line of JSON each.
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/mix.h"

namespace {

using namespace packhorse::reader;  // NOLINT(google-build-using-namespace): a program about it
using Json = nlohmann::json;

std::string input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

void output(const std::vector<std::uint8_t>& pixels) {
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
}

Augment augment_of(const Json& options) {
  const std::string name = options.at("augment");
  const int width = options.at("size");
  const ImageSize size{options.value("rows", width), width};
  const auto filter = static_cast<Interpolation>(options.value("interpolation", 0));
  if (name == "RandomResizedCrop") return RandomResizedCrop{.size = size, .interpolation = filter};
  if (name == "ResizeCenterCrop") return ResizeCenterCrop{options.at("resize"), size, filter};
  if (name == "Resize") return Resize{size, filter};
  return CenterCrop{size};
}

Json json_of(const MixPlan& plan) {
  return {{"kind", static_cast<int>(plan.kind)},
          {"lambda", plan.lambda},
          {"x", plan.x},
          {"y", plan.y},
          {"w", plan.w},
          {"h", plan.h},
          {"partners", plan.partners}};
}

MixOptions mix_options(const Json& options) {
  return {.mixup_alpha = options.value("mixup_alpha", 0.0),
          .cutmix_alpha = options.value("cutmix_alpha", 0.0)};
}

/// Prints one line per draw, each of another sample or step.
void draw(const Json& options) {
  const std::string what = options.at("what");
  const int width = options.value("width", 0), height = options.value("height", 0);
  for (std::uint64_t i = 0; i < options.at("count"); ++i) {
    SampleRandom random(options.value("seed", 0U), 0, i);
    Json line;
    if (what == "crop") {
      const CropPlan plan = plan_crop(augment_of(options), width, height, random);
      line = {plan.x, plan.y, plan.w, plan.h, plan.flip, plan.bicubic};
    } else {
      line = json_of(plan_mix(mix_options(options), options.at("batch"), {height, width}, 0, 0, i));
    }
    std::cout << line.dump() << '\n';
  }
}

void decode(const Json& options) {
  const std::string file = input();
  const auto [height, width] = output_size(augment_of(options));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height) *
                                   static_cast<std::size_t>(width) * 3);
  const bool scaled = options.value("scaled", false);
  Decoder decoder({.scaled_dct = scaled ? ScaledDct::kWhenCovered : ScaledDct::kOff});
  const SampleRandom random(0, 0, options.value("sample", 0U));
  decoder.decode(packhorse::as_bytes(file), augment_of(options), random, pixels);
  output(pixels);
}

void mix_batch(const Json& options) {
  const std::string text = input();
  std::vector<std::uint8_t> pixels(text.begin(), text.end());
  const ImageSize size = {options.at("height"), options.at("width")};
  mix(plan_mix(mix_options(options), options.at("batch"), size, 0, 0, options.at("step")), pixels,
      size);
  output(pixels);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc == 3 ? argv[1] : "";
    const Json options = Json::parse(argc == 3 ? argv[2] : "");
    if (what == "draw") {
      draw(options);
    } else if (what == "decode") {
      decode(options);
    } else {
      mix_batch(options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

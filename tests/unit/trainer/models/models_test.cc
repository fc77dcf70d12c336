#include "packhorse/trainer/models/models.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "models/archs.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

TEST_CASE("models: parameters are as many as torchvision's") {
  CHECK(count_parameters(*make_model("resnet18", 1000)) == 11'689'512);
  CHECK(count_parameters(*make_model("resnet34", 1000)) == 21'797'672);
  CHECK(count_parameters(*make_model("resnet50", 1000)) == 25'557'032);
  CHECK(count_parameters(*make_model("resnet101", 1000)) == 44'549'160);
  CHECK(count_parameters(*make_model("mobilenet_v2", 1000)) == 3'504'872);
  CHECK(count_parameters(*make_model("vit_s16", 1000)) == 22'050'664);
  CHECK(count_parameters(*make_model("resnet18-cifar", 10)) == 11'173'962);
  CHECK(count_parameters(*make_model("smallnet", 10)) == 288'746);
}

TEST_CASE("models: ResNets have torchvision's names and shapes") {
  const auto model = make_model("resnet50", 7);
  const auto parameters = model->named_parameters();
  const auto buffers = model->named_buffers();
  CHECK(parameters.size() == 161);
  CHECK(buffers.size() == 159);
  CHECK(parameters["conv1.weight"].sizes() == at::IntArrayRef{64, 3, 7, 7});
  CHECK(parameters["layer1.0.downsample.0.weight"].sizes() == at::IntArrayRef{256, 64, 1, 1});
  CHECK(parameters["layer3.5.conv2.weight"].sizes() == at::IntArrayRef{256, 256, 3, 3});
  CHECK(parameters["layer4.2.bn3.bias"].sizes() == at::IntArrayRef{2048});
  CHECK(parameters["fc.weight"].sizes() == at::IntArrayRef{7, 2048});
  CHECK(buffers.contains("layer2.0.downsample.1.running_var"));
  CHECK(buffers.contains("bn1.num_batches_tracked"));

  const auto small = make_model("resnet18", 7)->named_parameters();
  CHECK(small.size() == 62);
  CHECK(small["layer2.0.downsample.0.weight"].sizes() == at::IntArrayRef{128, 64, 1, 1});
  CHECK_FALSE(small.contains("layer1.0.downsample.0.weight"));
}

TEST_CASE("models: convolutions start with He's deviation by fan-out, norms with one and zero") {
  const auto parameters = make_model("resnet18", 10)->named_parameters();
  const double deviation = parameters["layer4.1.conv2.weight"].std().item<double>();
  CHECK(deviation == doctest::Approx(std::sqrt(2.0 / (512 * 9))).epsilon(0.01));
  CHECK(parameters["bn1.weight"].eq(1).all().item<bool>());
  CHECK(parameters["bn1.bias"].eq(0).all().item<bool>());
}

TEST_CASE("models: every arch gives a score for each class, also in channels_last") {
  const at::NoGradGuard no_grad;
  int channels = 2;  // a different number for each
  for (const Arch* arch : all_archs()) {
    CAPTURE(arch->name);
    ++channels;
    const auto model = make_model(arch->name, 5, 64, channels);
    model->eval();
    const auto images = at::ones({2, channels, 64, 64});
    const auto scores = model->forward(images);
    // Of 64 x 64 pixels, YOLOX looks at 8 x 8 + 4 x 4 + 2 x 2 places, FCOS at two more.
    if (arch->task == TaskKind::kDetect)
      CHECK(scores.sizes() == at::IntArrayRef{2, arch->name.starts_with("fcos") ? 86 : 84, 10});
    else
      CHECK(scores.sizes() == at::IntArrayRef{2, 5});
    make_channels_last(*model);
    const auto again = model->forward(images.contiguous(at::MemoryFormat::ChannelsLast));
    CHECK(scores.allclose(again, 1e-3, 1e-4));
  }
}

TEST_CASE("models: an unknown arch is a usage error that lists the known ones") {
  try {
    make_model("alexnet", 10);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    for (const Arch* arch : all_archs()) {
      CHECK(error.advice().find(arch->name) != std::string::npos);
    }
  }
  CHECK(test::kind_of_error([] { make_model("smallnet", 0); }) == ErrorKind::kUsage);
}

TEST_CASE("models: every arch learns from its gradients, each parameter having one") {
  for (const Arch* arch : all_archs()) {
    CAPTURE(arch->name);
    at::manual_seed(3);
    const auto model = make_model(arch->name, 3, 32);
    model->train();
    model->forward(at::randn({2, 3, 32, 32})).square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      CAPTURE(item.key());
      CHECK(item.value().grad().defined());
    }
  }
}

TEST_CASE("models: a transformer refuses sizes its squares do not fill, and pictures of another") {
  CHECK(test::kind_of_error([] { make_model("vit_s16", 3, 100); }) == ErrorKind::kUsage);
  const auto model = make_model("vit_s16", 3, 32);
  CHECK(test::kind_of_error([&] {
          model->forward(at::zeros({1, 3, 48, 48}));
        }) == ErrorKind::kUsage);
}

TEST_CASE("archs: settings of each make a valid recipe") {
  for (const Arch* arch : all_archs()) {
    CAPTURE(arch->name);
    default_recipe(*arch).validate();
    CHECK(&find_arch(arch->name) == arch);
  }
  CHECK(&find_arch("script:net.pt") == &script_arch());
  CHECK(script_file("script:a:b.pt") == "a:b.pt");
  CHECK(script_file("resnet18").empty());
}

TEST_CASE("models: a script module that is missing, or has no name, is an error") {
  CHECK(test::kind_of_error([] { make_model("script:", 3); }) == ErrorKind::kUsage);
  CHECK(test::kind_of_error([] { make_model("script:/nowhere.pt", 3); }) == ErrorKind::kNotFound);
}

// The parts of a detector, for tests in Python that hold them against plain ones.
//   detect_probe train NAME CLASSES WEIGHTS INPUT OUT: predictions in training mode, assignment,
//       losses and gradients for INPUT's "images", "boxes" (centre and sides), "labels", "real"
//   detect_probe eval NAME CLASSES WEIGHTS INPUT OUT: predictions in evaluation mode, and what is
//       found: rows of picture, label, score and corners
//   detect_probe loss NAME INPUT OUT: the same as train, for INPUT's "predictions" of pictures
//       of "sides" [2]: height and width
//   detect_probe suppress THRESHOLD MOST INPUT OUT: which of "corners", "scores", "labels" are kept
//   detect_probe save NAME CLASSES OUT: a new network
// OUT is a checkpoint.
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "models/archs.h"
#include "packhorse/trainer/checkpoint/weights.h"
#include "packhorse/trainer/models/models.h"
#include "tasks/detect/boxes.h"
#include "tasks/detect/family.h"
#include "tasks/detect/fcos_loss.h"
#include "tasks/detect/yolox_loss.h"

namespace {

using namespace packhorse::trainer;  // NOLINT(google-build-using-namespace): a program about it

using Tensors = std::map<std::string, at::Tensor>;

Tensors read(const std::string& path) {
  Tensors tensors;
  for (const auto& [name, tensor] : read_weights(path)) tensors[name] = tensor;
  return tensors;
}

TrueBoxes truth_in(const Tensors& in) {
  const at::Tensor counts = in.at("real").sum(1).to(at::kLong).contiguous();
  const auto* const count = counts.const_data_ptr<std::int64_t>();
  return {in.at("boxes"),
          in.at("labels").to(at::kLong),
          in.at("real").to(at::kBool),
          {count, count + counts.numel()}};
}

void add_yolox_loss(const at::Tensor& predictions, const Tensors& in, const AnchorPoints& points,
                    NamedTensors& out) {
  const TrueBoxes truth = truth_in(in);
  const Assignment assignment = assign_simota(predictions, truth, points);
  const YoloxLoss loss = yolox_loss(predictions, truth, points, true);
  loss.total.backward();
  out.insert(out.end(), {{"object", assignment.object},
                         {"overlap", assignment.overlap},
                         {"loss.box", loss.box.detach()},
                         {"loss.object", loss.object.detach()},
                         {"loss.classes", loss.classes.detach()},
                         {"loss.offsets", loss.offsets.detach()},
                         {"loss.total", loss.total.detach()}});
}

void add_fcos_loss(const at::Tensor& predictions, const Tensors& in, const FcosPoints& points,
                   NamedTensors& out) {
  const TrueBoxes truth = truth_in(in);
  const FcosLoss loss = fcos_loss(predictions, truth, points);
  loss.total.backward();
  out.insert(out.end(), {{"object", assign_fcos(truth, points)},
                         {"loss.box", loss.box.detach()},
                         {"loss.centre", loss.centre.detach()},
                         {"loss.classes", loss.classes.detach()},
                         {"loss.total", loss.total.detach()}});
}

bool is_fcos(const std::string& name) { return find_arch(name).detector == DetectorKind::kFcos; }

void add_loss(const std::string& name, const at::Tensor& predictions, std::int64_t height,
              std::int64_t width, const Tensors& in, NamedTensors& out) {
  out.emplace_back("predictions", predictions.detach());
  if (is_fcos(name)) {
    add_fcos_loss(predictions, in, fcos_points(height, width, at::kCPU), out);
  } else {
    add_yolox_loss(predictions, in, anchor_points(height, width, at::kCPU), out);
  }
}

at::Tensor found_in(const std::string& name, const at::Tensor& predictions, std::int64_t height,
                    std::int64_t width) {
  Recipe recipe;
  recipe.arch = name;
  std::vector<at::Tensor> rows;
  const auto found = find_objects(predictions, family_of(recipe).rules(height, width));
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& [box, label, score] : found[i])
      rows.push_back(at::tensor(
          {double(i), double(label), score, box.x, box.y, box.x + box.width, box.y + box.height},
          at::kDouble));
  return rows.empty() ? at::zeros({0, 7}) : at::stack(rows);
}

NamedTensors network(const std::vector<std::string>& args) {
  const auto model = make_model(args.at(1), std::stoll(args.at(2)));
  NamedTensors out;
  if (args[0] == "save") {
    for (const auto& item : model->named_parameters()) out.emplace_back(item.key(), item.value());
    for (const auto& item : model->named_buffers()) out.emplace_back(item.key(), item.value());
    return out;
  }
  load_weights(*model, args.at(3));
  const Tensors in = read(args.at(4));
  const at::Tensor& images = in.at("images");
  const std::int64_t height = images.size(2), width = images.size(3);
  if (args[0] == "eval") {
    model->eval();
    const at::NoGradGuard no_grad;
    const at::Tensor predictions = model->forward(images);
    return {{"predictions", predictions}, {"found", found_in(args[1], predictions, height, width)}};
  }
  model->train();
  add_loss(args[1], model->forward(images), height, width, in, out);
  for (const auto& item : model->named_parameters())
    out.emplace_back("grad." + item.key(), item.value().grad());
  return out;
}

NamedTensors loss_alone(const std::vector<std::string>& args) {
  const Tensors in = read(args.at(2));
  const at::Tensor predictions = in.at("predictions").clone().requires_grad_();
  const auto side = [&](std::int64_t i) { return in.at("sides")[i].item<std::int64_t>(); };
  NamedTensors out;
  add_loss(args[1], predictions, side(0), side(1), in, out);
  out.emplace_back("grad", predictions.grad());
  return out;
}

NamedTensors kept(const std::vector<std::string>& args) {
  const Tensors in = read(args.at(3));
  return {
      {"kept", suppress_overlaps(in.at("corners"), in.at("scores"), in.at("labels").to(at::kLong),
                                 std::stod(args.at(1)), std::stoll(args.at(2)))}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    at::manual_seed(1);
    Checkpoint result;
    if (args.at(0) == "loss")
      result.model = loss_alone(args);
    else if (args[0] == "suppress")
      result.model = kept(args);
    else
      result.model = network(args);
    write_checkpoint(args.back(), result);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

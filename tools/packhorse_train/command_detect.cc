#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/stop.h"
#include "commands.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "dataset/url.h"
#include "detect_outputs.h"
#include "help/help_text.h"
#include "labels/text_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/trainer/train/detect.h"
#include "packhorse/trainer/train/evaluate.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace fs = std::filesystem;

namespace {

class CommandDetect final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("inputs", inputs_,
                   "Image files, folders of images, or packed datasets, which may lie at URLs")
        ->required();
    auto* weights = model_.add_options(app);
    auto* names = app.add_option("--classes", classes_,
                                 "With --weights: a file with the names of the classes, one a "
                                 "line, in the order of the network's outputs")
                      ->needs(weights);
    weights->needs(names);
    app.add_option("--split", split_, "Split of a dataset or folder (val, or test)");
    add_rules(app);
    add_outputs(app);
    run_.add_device(app);
    loader_.add_options(app, {"workers", "max_bad"});
    program::add_image_limits(app, options_.limits, "Image limits");
    remote_.setup(app);
    help::show_as_usual(app, {"--checkpoint", "--weights", "--arch", "--classes", "--min-score",
                              "--device", "--coco", "--annotations", "--pictures", "--json"});
    app.footer(
        "Examples:\n"
        "  packhorse-train detect photo.jpg --checkpoint run/best.pt --pictures found\n"
        "  packhorse-train detect packed/coco --split val --checkpoint run/best.pt --min-score "
        "0.001 --coco results.json\n\n"
        "All images in a folder and below it are looked at, whatever its layout.");
  }

  int run() override {
    if (!classes_.empty()) options_.classes = read_class_file(classes_);
    options_.model = model_.file();
    options_.device = run_.pick();
    share_cpus();
    loader_.put_into(options_);  // damaged ones are named and left out
    output_.limits = options_.limits;
    std::vector<std::string> places;
    for (const fs::path& input : inputs_) places.push_back(input.string());
    remote_.enable(places);
    const std::vector<DetectInput> inputs = open_inputs();
    ObjectDetector detector(options_);
    DetectOutputs outputs(output_, detector.classes(), inputs);
    for (const DetectInput& input : inputs) {
      outputs.begin(input);
      outputs.end(detector.run(
          input.dataset, [&](const SeenPicture& picture) { outputs.add(picture); },
          current_stop()));
    }
    outputs.finish();
    return program::kDone;
  }

 private:
  void add_rules(CLI::App& app) {
    app.add_option(
           "--min-score", options_.min_score,
           "Least score of the detections that are reported; eval counts from 0.001, with FCOS "
           "from 0.2")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--max-overlap", options_.overlap,
                   "The most that a detection may overlap a surer one of the same class (default: "
                   "the network's)")
        ->check(CLI::Range(0.0, 1.0));
    app.add_option("--most", options_.most, "The most detections of a picture: the surest")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--batch-size", options_.batch_size, "Pictures at once")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }

  void add_outputs(CLI::App& app) {
    app.add_flag("--json", output_.json, "Print one JSON object a line for each picture");
    auto* coco = program::add_output(app, "--coco", output_.coco,
                                     "Write the detections to this file as COCO's results, which "
                                     "pycocotools reads");
    app.add_option("--annotations", output_.annotations,
                   "With --coco: take the ids of images and categories from this COCO file, by "
                   "their names (default: those that the dataset keeps, or numbers)")
        ->needs(coco);
    app.add_option("--pictures", output_.pictures,
                   "Write the pictures with boxes to this folder, which must not exist");
  }

  /// Files that follow one another are one input.
  std::vector<DetectInput> open_inputs() const {
    std::vector<DetectInput> inputs;
    std::vector<fs::path> files;
    const auto add_files = [&](const fs::path& path, std::vector<fs::path>& found) {
      if (!found.empty()) inputs.push_back({path, reader::Dataset::of_files(std::move(found))});
      found.clear();
    };
    for (const fs::path& path : inputs_) {
      if (!is_url(path.native()) && !fs::is_directory(path)) {
        if (!split_.empty())
          throw Error(ErrorKind::kUsage, "a single image has no splits", path, "leave out --split");
        files.push_back(path);
        continue;
      }
      add_files("", files);
      if (is_url(path.native()) || holds_shards(path)) {
        inputs.push_back({path, reader::Dataset::open(path, split_of(path))});
        continue;
      }
      std::vector<fs::path> images = find_images(split_.empty() ? path : path / split_);
      add_files(path, images);
    }
    add_files("", files);
    return inputs;
  }

  /// Whether a folder is a packed dataset, or has splits that are.
  static bool holds_shards(const fs::path& path) {
    const std::vector<fs::directory_entry> entries = entries_in(path);
    return is_packed_dataset(path) ||
           std::ranges::any_of(entries, [](const fs::directory_entry& entry) {
             return is_packed_dataset(entry.path());
           });
  }

  std::string split_of(const fs::path& path) const {
    return split_.empty() ? find_val_split(path) : split_;
  }

  std::vector<fs::path> inputs_;
  DetectorOptions options_;
  ModelOptions model_;
  fs::path classes_;
  std::string split_;
  DetectOutputOptions output_;
  program::RemoteArguments remote_;
  RunOptions run_;
  LoaderArguments loader_;
};

}  // namespace

std::unique_ptr<program::Command> make_detect_command() {
  return std::make_unique<CommandDetect>();
}

}  // namespace packhorse::trainer

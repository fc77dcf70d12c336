#include "command_inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "inspect/verify_action.h"
#include "inspect_text.h"
#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/npy.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using program::Json;

class CommandInspect final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("dataset", request_.path, "A packed dataset, or a directory of its splits")
        ->required();
    auto* list = app.add_flag("--list", list_, "List the samples, one a line");
    auto* show =
        app.add_option("--show", show_, "Show the sample with this number or key")->excludes(list);
    auto* output =
        app.add_option("-o,--output", output_,
                       "With --show: write the image's bytes to this file (- = standard output)")
            ->needs(show);
    app.add_option("--field", field_, "With -o: write this extra field's bytes instead")
        ->needs(output);
    app.add_flag("--json", request_.json, "Print one JSON object");
    app.add_option("--jobs", request_.jobs, "Threads; 0 = as many as this process may use")
        ->capture_default_str();
    verify_.setup(app);
    app.footer(
        "Examples:\n"
        "  packhorse inspect packed/train --verify full\n"
        "  packhorse inspect packed --against imagenet\n\n"
        "--verify and --against end with exit code 3 when anything is not as it was packed, and "
        "name shard,\n"
        "sample and byte range. --list prints: number, key, label, class, bytes, size, kind, "
        "source path, "
        "separated by tabs.");
  }

  int run(const std::stop_token& stop) override {
    const std::vector<fs::path> paths = find_datasets(request_.path);
    if (verify_.wanted()) return verify_.run(paths, stop);
    if (!show_.empty()) return show(paths);
    std::vector<Json> objects;
    for (const fs::path& path : paths) {
      const PackedDataset dataset(path);
      if (request_.json) {
        objects.push_back(list_ ? list_json(dataset) : summary_json(dataset));
      } else if (list_) {
        for (std::size_t i = 0; i < dataset.size(); ++i) fmt::print("{}", sample_line(dataset, i));
      } else {
        fmt::print("{}", summary_text(dataset));
      }
    }
    if (request_.json) fmt::print("{}", program::to_text(one_object(paths, objects)));
    return program::kDone;
  }

 private:
  /// A dataset is one object; a directory of splits is {"datasets": [...]}.
  Json one_object(const std::vector<fs::path>& paths, const std::vector<Json>& objects) const {
    return paths.front() == fs::path(request_.path) ? objects.front() : Json{{"datasets", objects}};
  }

  static Json list_json(const PackedDataset& dataset) {
    Json samples = Json::array();
    for (std::size_t i = 0; i < dataset.size(); ++i) samples.push_back(sample_json(dataset, i));
    return {{"path", dataset.path().string()}, {"samples", samples}};
  }

  /// A number, or a key; keys begin with a zero or are long, so a short number is a number.
  std::size_t find(const PackedDataset& dataset) const {
    std::size_t number = 0;
    const auto [end, code] = std::from_chars(show_.data(), show_.data() + show_.size(), number);
    const bool is_number = code == std::errc() && end == show_.data() + show_.size();
    if (!is_number || (show_.size() >= 9)) return dataset.find(show_);
    if (number < dataset.size()) return number;
    throw Error(ErrorKind::kNotFound,
                fmt::format("there is no sample {}: the last is {}", number, dataset.size() - 1),
                dataset.path(), "`packhorse inspect --list` shows all of them");
  }

  int show(const std::vector<fs::path>& paths) const {
    if (paths.size() != 1) {
      throw Error(ErrorKind::kUsage, "--show needs one dataset, and here are several",
                  request_.path, "name one of the splits, e.g. " + paths.front().string());
    }
    const PackedDataset dataset(paths.front());
    const std::size_t sample = find(dataset);
    const std::vector<std::byte> bytes = bytes_to_show(dataset, sample);
    if (output_ == "-") {
      std::fwrite(bytes.data(), 1, bytes.size(), stdout);
      return program::kDone;
    }
    if (!output_.empty()) write_file(output_, bytes);
    fmt::print("{}", request_.json ? program::to_text(sample_json(dataset, sample))
                                   : sample_line(dataset, sample));
    return program::kDone;
  }

  /// The image as a file, raw pixels as a NumPy one; or a field.
  std::vector<std::byte> bytes_to_show(const PackedDataset& dataset, std::size_t sample) const {
    std::vector<std::byte> bytes;
    if (!field_.empty()) {
      const std::vector<std::string>& fields = dataset.fields();
      const auto found = std::find(fields.begin(), fields.end(), field_);
      if (found == fields.end() ||
          !dataset.read_field(sample, static_cast<std::size_t>(found - fields.begin()), bytes)) {
        throw Error(ErrorKind::kNotFound, "the sample has no field '" + field_ + "'",
                    dataset.path(), "`packhorse inspect --show " + show_ + " --json` names them");
      }
      return bytes;
    }
    dataset.read(sample, bytes);
    if (const ImageInfo image = dataset.image(sample); image.kind == ImageKind::kRaw) {
      const std::string header = npy_header(image);
      const Bytes head = as_bytes(header);
      bytes.insert(bytes.begin(), head.begin(), head.end());
    }
    return bytes;
  }

  inspect::Request request_;
  std::string show_, output_, field_;
  bool list_ = false;
  inspect::VerifyAction verify_{request_};
};

}  // namespace

std::unique_ptr<program::Command> make_inspect_command() {
  return std::make_unique<CommandInspect>();
}

}  // namespace packhorse

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/output_file.h"
#include "bench/request.h"
#include "bench/run.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/remote.h"
#include "common/storage.h"
#include "help/help_text.h"
#include "loader/loader_table.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

class CommandBench final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app_ = &app;
    add_what(app);
    add_how(app);
    app.add_flag("--json", request_.json, "Print one JSON object");
    program::add_quiet(app, request_.quiet, program::kProgress);
    program::add_output(app, "--metrics", request_.metrics,
                        "Write the loaders' counters to this file, in Prometheus' text format");
    help::show_as_usual(
        app, {"--work", "--augment", "--size", "--workers", "--sweep", "--cold", "--storage",
              "--batch-size", "--max-images", "--order", "--repeats", "--json", "--quiet"});
    app.footer(
        "Examples:\n"
        "  packhorse bench photos packed/wds packed/lmdb --work read,decode --cold --warm\n"
        "  packhorse bench packed/wds --sweep\n"
        "  packhorse bench packed/coco --augment mosaic --size 640 --targets\n\n"
        "Rates are medians of the repeats; spread is the gap between the slowest and the fastest, "
        "in percent of the median.\n"
        "disk is what the disk really delivered during the pass: it proves a pass cold or warm, "
        "and a cold pass without\n"
        "that proof is an error. The knee is the smallest number of workers that reaches 95 % of "
        "the best rate.");
  }

  int run() override {
    const bool decodes = std::ranges::find(request_.works, "decode") != request_.works.end();
    if (!decodes && (has_any_of({size_, augment_, pixel_steps_, targets_}) ||
                     program::has_image_limits(*app_))) {
      throw Error(ErrorKind::kUsage,
                  "--size, --augment, --pixel-steps, --targets and image limits have no effect: "
                  "--work read "
                  "decodes no images",
                  {}, "leave them out, or give --work decode");
    }
    const GivenOptions given = loader_.given();
    set_given(request_.loader, reader::loader_options(), given);
    request_.usual_order = !given.contains("order") && !given.contains("shuffle");
    static_cast<void>(bench::size_of(request_.augment, request_.size));  // may throw
    request_.from_afar = remote_.enable(request_.inputs);
    if (request_.repeats < 1) throw Error(ErrorKind::kUsage, "--repeats must be at least 1");
    // The file is made first, so that one that cannot be written fails before the measurement.
    std::optional<OutputFile> metrics;
    if (!request_.metrics.empty()) metrics.emplace(request_.metrics);
    const std::vector<bench::Run> runs = bench::measure_all(request_);
    if (metrics) {
      metrics->write(as_bytes(bench::metrics_text(request_, runs)));
      metrics->commit();
    }
    fmt::print("{}", request_.json ? json_text(bench::report_json(request_, runs))
                                   : bench::report_text(request_, runs));
    return program::kDone;
  }

 private:
  void add_what(CLI::App& app) {
    app.add_option("inputs", request_.inputs, "Packed datasets and plain class folders to compare")
        ->required();
    app.add_option("--work", request_.works,
                   "read: read the bytes and check their hash; decode: also decode the images; "
                   "read,decode: measure both")
        ->delimiter(',')
        ->check(program::one_of({"read", "decode"}))
        ->default_str("decode");
    app.add_flag(
        "--cold", request_.cold,
        "Drop the inputs from the page cache before each pass (as root: the whole page cache)");
    app.add_flag(
        "--warm", request_.warm,
        "Read the inputs once before the first pass (the default without --cold and --storage)");
    app.add_option("--storage", request_.storages,
                   program::storages_text() + " (may be given several times)");
    app.add_option("--split", request_.split, "Split to read, for inputs with several");
    loader_.declare(app, reader::loader_options(), {"order", "shuffle", "weights", "replacement"});
    app.add_option("--max-images", request_.max_images,
                   "Images per pass, rounded up to whole batches; 0 = all")
        ->capture_default_str();
  }

  void add_how(CLI::App& app) {
    auto* workers = app.add_option("--workers", request_.workers,
                                   "Numbers of reader threads, e.g. 1,2,4; default: one for each "
                                   "CPU this process may use")
                        ->delimiter(',')
                        ->check(program::not_negative());
    app.add_flag("--sweep", request_.sweep,
                 "Try 1, 2, 4, ... workers, up to twice the number of CPUs")
        ->excludes(workers);
    augment_ = app.add_option("--augment", request_.augment, bench::augments_text())
                   ->check(program::one_of(bench::augment_names()))
                   ->capture_default_str();
    pixel_steps_ = app.add_option_function<std::string>(
                          "--pixel-steps",
                          [this](const std::string& text) {
                            request_.pixel_steps = reader::parse_pixel_steps(text);
                          },
                          "Changes to the pixels of the result, one after the other, e.g. "
                          "'ColorJitter(0.4, 0.4, 0.4, 0.1), RandomErasing(0.25)'")
                       ->type_name("STEPS");
    size_ = app.add_option("--size", request_.size,
                           "Pixels of the result: a side, or HEIGHTxWIDTH; 224 for crops, 640 for "
                           "whole pictures");
    targets_ = app.add_flag("--targets", request_.targets,
                            "Also read the objects, and place them as the pictures are");
    loader_.declare(app, reader::loader_options(), {"batch_size", "max_bad", "huge_pages"});
    program::add_image_limits(app, request_.limits, "Image limits");
    remote_.setup(app);
    app.add_option("--repeats", request_.repeats,
                   "Passes over each input, in turns: A B C A B C ...")
        ->capture_default_str();
    app.add_option("--min-seconds", request_.min_seconds,
                   "Shortest warm pass, in seconds; small inputs are read several times")
        ->capture_default_str();
  }

  static bool has_any_of(std::initializer_list<const CLI::Option*> options) {
    return std::ranges::any_of(options, [](const CLI::Option* o) { return o->count() > 0; });
  }

  bench::Request request_;
  program::TableOptions loader_;
  program::RemoteArguments remote_;
  const CLI::App* app_ = nullptr;
  CLI::Option *size_ = nullptr, *augment_ = nullptr, *pixel_steps_ = nullptr, *targets_ = nullptr;
};

}  // namespace

std::unique_ptr<program::Command> make_bench_command() { return std::make_unique<CommandBench>(); }

}  // namespace packhorse

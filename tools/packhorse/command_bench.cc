#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/run_json.h"
#include "bench/run_text.h"
#include "commands.h"
#include "common/image_limits.h"
#include "common/storage.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"

namespace packhorse {

namespace {

class CommandBench final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app_ = &app;
    add_what(app);
    add_how(app);
    app.add_flag("--json", request_.json, "Print one JSON object");
    app.add_option("--metrics", request_.metrics,
                   "Write the loaders' counters into a file, in Prometheus' text format");
    app.footer(
        "Examples:\n"
        "  packhorse bench photos packed/wds packed/lmdb --work read,decode --cold --warm\n"
        "  packhorse bench packed/wds --sweep\n\n"
        "Rates are medians of the repeats; spread is from the slowest to the fastest, in percent "
        "of "
        "that. disk is what the\n"
        "disk really delivered during the pass: it proves cold or warm, and a cold pass that it "
        "does not prove is an error.\n"
        "The knee is the fewest workers that reach 95 % of the best rate.");
  }

  int run(const std::stop_token& stop) override {
    const bool decodes = std::ranges::find(request_.works, "decode") != request_.works.end();
    if (!decodes && (size_->count() > 0 || program::has_image_limits(*app_))) {
      throw Error(ErrorKind::kUsage,
                  "--size and limits of images are for decoding, and --work read does not decode",
                  {}, "leave them out, or say --work decode");
    }
    if (request_.repeats < 1) throw Error(ErrorKind::kUsage, "--repeats must be at least 1");
    // The file is made first, so that one that cannot be written fails before the measurement.
    std::optional<AtomicFile> metrics;
    if (!request_.metrics.empty()) metrics.emplace(request_.metrics);
    const std::vector<bench::Run> runs = bench::measure_all(request_, stop);
    if (metrics) {
      metrics->write(as_bytes(bench::metrics_text(request_, runs)));
      metrics->commit();
    }
    fmt::print("{}", request_.json ? program::to_text(bench::report_json(request_, runs))
                                   : bench::report_text(request_, runs));
    return program::kDone;
  }

 private:
  void add_what(CLI::App& app) {
    app.add_option("inputs", request_.inputs,
                   "Packed datasets and plain class folders, compared side by side")
        ->required();
    app.add_option("--work", request_.works,
                   "read: bytes and their hash; decode: pixels, too; read,decode: first one, then "
                   "the other")
        ->delimiter(',')
        ->check(CLI::IsMember({"read", "decode"}))
        ->default_str("decode");
    app.add_flag("--cold", request_.cold,
                 "Drop the inputs from the page cache before each pass, as root with all else that "
                 "is in it");
    app.add_flag(
        "--warm", request_.warm,
        "Read the inputs once before the first pass (default without --cold and --storage)");
    app.add_option("--storage", request_.storages, program::storages_text() + " (may be repeated)");
    app.add_option("--split", request_.split, "Split to read where an input has several");
    app.add_option("--order", request_.order, bench::orders_text())
        ->check(CLI::IsMember(bench::order_names()))
        ->capture_default_str();
    app.add_flag_callback(
           "--sequential", [this] { request_.order = "sequential"; },
           "The same as --order sequential")
        ->excludes("--order");
    app.add_option("--max-images", request_.max_images,
                   "Images a pass, rounded up to whole batches; 0 = all")
        ->capture_default_str();
  }

  void add_how(CLI::App& app) {
    auto* workers =
        app.add_option("--workers", request_.workers,
                       "Reader threads, e.g. 1,2,4; default: as many as this process may use")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber);
    app.add_flag("--sweep", request_.sweep, "Try 1, 2, 4, ... workers, up to twice the CPUs")
        ->excludes(workers);
    app.add_option("--batch-size", request_.batch_size, "Images a batch")->capture_default_str();
    size_ = app.add_option("--size", request_.size, "Side of the random resized crop, in pixels")
                ->capture_default_str();
    app.add_option("--max-bad", request_.max_bad,
                   "Damaged images an epoch that are replaced by others, e.g. 10 or 0.1%; one more "
                   "is an error")
        ->capture_default_str();
    program::add_image_limits(app, request_.limits, "Images that are decoded");
    app.add_flag("--huge-pages", request_.huge_pages, "Batches in memory pages of 2 MiB");
    app.add_option("--repeats", request_.repeats,
                   "Passes over each input, in turns: A B C A B C ...")
        ->capture_default_str();
    app.add_option("--min-seconds", request_.min_seconds,
                   "Length of a warm pass at least; small inputs are read several times")
        ->capture_default_str();
  }

  bench::Request request_;
  const CLI::App* app_ = nullptr;
  CLI::Option* size_ = nullptr;
};

}  // namespace

std::unique_ptr<program::Command> make_bench_command() { return std::make_unique<CommandBench>(); }

}  // namespace packhorse

#include "command_pack.h"

#include <fmt/format.h>

#include "common/terminal.h"
#include "packhorse/error.h"
#include "packhorse/pack.h"
#include "packhorse/transform.h"

namespace packhorse {

namespace {

using program::bytes_text;
using program::count_text;
using program::Json;
using program::with_commas;

constexpr std::size_t kRejectsShown = 50;

/// "wds (WebDataset: ...), lmdb (...)" for help texts.
template <class Kinds>
std::string described(const Kinds& kinds) {
  std::string text;
  for (const auto& kind : kinds) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(kind)>>) {
      text += fmt::format("\n  {:<9} {}", kind->name, kind->summary);
    } else {
      text += fmt::format("\n  {:<9} {}", kind.name, kind.summary);
    }
  }
  return text;
}

class CommandPack final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("source", source_,
                   "A folder of class folders, or of train/ val/ test/ folders of those")
        ->required();
    app.add_option("out", out_, "The dataset to write; appears only when it is complete")
        ->required();
    app.add_option("--format", options_.format, "Shard format, see below")->required();
    app.add_option("--image", options_.image, "What becomes of the images, see below")
        ->capture_default_str();
    auto* bytes =
        app.add_option("--shard-bytes", shard_bytes_, "Size aimed at for a shard, e.g. 1GiB")
            ->capture_default_str();
    app.add_option("--shard-samples", options_.plan.shard_samples,
                   "Exactly this many images a shard instead")
        ->excludes(bytes);
    auto* seed = app.add_option("--seed", options_.plan.seed, "Seed of the global shuffle")
                     ->capture_default_str();
    app.add_flag("--no-shuffle", no_shuffle_, "Keep the order of the paths")->excludes(seed);
    app.add_option("--classes", classes_file_,
                   "File with one class name a line, which fixes the labels");
    app.add_option("--max-rejects", max_rejects_,
                   "Publish with up to N, or P%, of the inputs rejected")
        ->capture_default_str();
    app.add_option("--max-pixels", options_.max_pixels, "Reject images with more pixels")
        ->capture_default_str();
    app.add_option("--jobs", options_.jobs, "Threads; 0 = as many as this process may use")
        ->capture_default_str();
    app.add_flag("--overwrite", options_.overwrite,
                 "Replace OUT, in one step, when the new one is complete");
    app.add_flag("--dry-run", options_.dry_run, "List and plan only, write nothing");
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Formats:" + described(all_formats()) + "\n\nImage modes:" + described(all_transforms()) +
        "\n\nExample:\n  packhorse pack imagenet packed --format wds --shard-bytes 512MiB\n\n"
        "Files are judged by their bytes: what is named like an image must be one, or it is "
        "rejected; hidden files\n"
        "and files that are no images are skipped and counted. With rejects beyond --max-rejects "
        "nothing is\n"
        "published, and the finished shards wait in OUT.partial for the next run. An interrupted "
        "run goes on\n"
        "where it stopped when the same command is given again.");
  }

  int run(const std::stop_token& stop) override {
    options_.plan.shuffle = !no_shuffle_;
    options_.plan.shard_bytes = program::parse_bytes(shard_bytes_);
    options_.max_rejects = RejectLimit::parse(max_rejects_);
    if (!classes_file_.empty()) options_.list.classes = read_class_list(classes_file_);
    Progress progress;
    PackReport report;
    try {
      const program::ProgressLine line(progress, "packing");
      report = pack(source_, out_, options_, &progress, stop);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      throw Error(ErrorKind::kInterrupted, "stopped; nothing is published", staging_path(out_),
                  "give the same command again: finished shards are kept");
    }
    print_rejects(report);
    fmt::print("{}", json_ ? program::to_text(to_json(report)) : to_words(report));
    if (options_.dry_run || report.published) return program::kDone;
    print_refusal(report);
    return program::kDamage;
  }

 private:
  void print_rejects(const PackReport& report) const {
    for (std::size_t i = 0; i < report.rejects.size() && i < kRejectsShown; ++i) {
      fmt::print(stderr, "rejected: {}: {}\n", report.rejects[i].path, report.rejects[i].reason);
    }
    if (report.rejects.size() > kRejectsShown) {
      fmt::print(stderr, "rejected: ... and {} more\n",
                 with_commas(report.rejects.size() - kRejectsShown));
    }
  }

  void print_refusal(const PackReport& report) const {
    fmt::print(stderr,
               "packhorse: error: {} of {} inputs were rejected, {} allowed: nothing is "
               "published\n  where: {}\n"
               "  next:  mend or remove those files, or allow them with --max-rejects, and give "
               "the same command again;\n"
               "         finished shards are kept, and all rejects are listed in {}\n",
               with_commas(report.accounting.rejected), with_commas(report.accounting.seen),
               options_.max_rejects.allowed(report.accounting.seen), source_,
               report.rejects_file.string());
  }

  static Json to_json(const PackReport& report) {
    const Accounting& a = report.accounting;
    Json splits = Json::array(), rejects = Json::array(), skipped = Json::object();
    for (const PackedSplit& split : report.splits) {
      splits.push_back({{"split", split.split},
                        {"path", split.path.string()},
                        {"id", split.manifest.id()},
                        {"samples", split.manifest.samples},
                        {"shards", split.manifest.shards.size()}});
    }
    for (const Reject& reject : report.rejects)
      rejects.push_back({{"path", reject.path}, {"reason", reject.reason}});
    for (const auto& [rule, count] : report.skipped_by_rule) skipped[rule] = count;
    return {{"seen", a.seen},
            {"packed", a.packed},
            {"rejected", a.rejected},
            {"skipped", a.skipped},
            {"bytes_in", report.bytes_in},
            {"bytes_out", report.bytes_out},
            {"shards", report.shards},
            {"shards_kept", report.shards_kept},
            {"seconds", report.seconds},
            {"id", report.id},
            {"published", report.published},
            {"splits", splits},
            {"skipped_by_rule", skipped},
            {"rejects", rejects}};
  }

  std::string to_words(const PackReport& report) const {
    const Accounting& a = report.accounting;
    std::string text =
        fmt::format("seen {} = packed {} + rejected {} + skipped {}\n", with_commas(a.seen),
                    with_commas(a.packed), with_commas(a.rejected), with_commas(a.skipped));
    for (const auto& [rule, count] : report.skipped_by_rule) {
      text += fmt::format("  skipped {}: {}\n", with_commas(count), rule);
    }
    if (options_.dry_run) {
      return text + fmt::format("would pack them into {}; nothing was written\n",
                                count_text(report.shards, "shard"));
    }
    if (!report.published) return text;
    for (const PackedSplit& split : report.splits) {
      text +=
          fmt::format("{}: {}, {}, {}, id {}\n", split.path.string(),
                      count_text(split.manifest.samples, "image"),
                      count_text(split.manifest.class_samples.size(), "class"),
                      count_text(split.manifest.shards.size(), split.manifest.format + " shard"),
                      split.manifest.id().substr(0, 12));
    }
    text += fmt::format("{} in, {} out, {}", bytes_text(report.bytes_in),
                        bytes_text(report.bytes_out), program::seconds_text(report.seconds));
    if (report.shards_kept > 0)
      text += ", " + count_text(report.shards_kept, "shard") + " kept from the run before";
    return text + "\n";
  }

  std::string source_, out_, classes_file_;
  std::string shard_bytes_ = "256MiB", max_rejects_ = "0";
  PackOptions options_;
  bool no_shuffle_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_pack_command() { return std::make_unique<CommandPack>(); }

}  // namespace packhorse

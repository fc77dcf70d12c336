#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/packing/pack_options.h"

/// Looks at a source of images as packing would, changes nothing, and says what will go wrong in
/// training.
///
///     const CheckReport report = check("photos", {});
///     for (const CheckFinding& finding : report.findings) use(finding.rule->code, finding.count);
namespace packhorse {

enum class Severity : std::uint8_t {
  kNote,     ///< good to know
  kWarning,  ///< may make training worse
  kError,    ///< makes training wrong, or packing refuses it
};
/// "note", "warning", "error".
std::string_view name_of(Severity severity);

/// A kind of finding. Codes never change their meaning.
struct CheckRule {
  std::string_view code;  ///< "PH501"
  Severity severity;
  std::string_view one, several;  ///< "image is ...", "images are ...", after their number
  std::string_view why;           ///< why it hurts
  std::string_view remedy;        ///< what to do, with options and commands as in Error::advice()
};
/// All rules, by code.
std::span<const CheckRule> check_rules();
/// Null if there is no such code.
const CheckRule* find_check_rule(std::string_view code);
/// The family of a code: "files" of "PH101".
std::string_view family_of(std::string_view code);

/// How much of the images is decoded.
enum class CheckDepth : std::uint8_t {
  kHeaders,  ///< nothing: of files, only the first bytes are read, so that neither what was cut off
             ///< nor duplicates are found
  kSample,   ///< images at random, until the share of those that fail is known within 1 %
  kAll,
};

/// Parses "headers", "sample" and "all". Throws Error(kUsage).
CheckDepth parse_check_depth(std::string_view name);

struct CheckOptions {
  /// How the source is read: `source_kind`, `list`, `select` (include, exclude), `limits`, `jobs`
  /// and `memory` count.
  PackOptions source = {};
  CheckDepth depth = CheckDepth::kSample;
  /// Beginnings of codes, "PH5": only these, and never these. Empty `select`: all.
  std::vector<std::string> select = {}, ignore = {};
  /// Of what matches a glob: codes that are ignored there.
  std::vector<std::pair<std::string, std::vector<std::string>>> ignore_in = {};
  /// A file with settings (docs/check.md); empty: kCheckConfig in the source, if it is a folder
  /// that has one. `select` and `baseline` that are given here count instead of those in it.
  std::filesystem::path config = {};
  /// A file of baseline_text(): what is in it is counted, not reported. Empty path: none, whatever
  /// the settings say.
  std::optional<std::filesystem::path> baseline = {};
  std::size_t examples = 3;  ///< of each finding; 0: all
  bool pictures = false;     ///< make Example::picture
  /// Throws Error(kUsage), also for what begins no code.
  void validate() const;
};
inline constexpr std::string_view kCheckConfig = "packhorse.yaml";

struct CheckFinding {
  const CheckRule* rule;
  std::uint64_t count = 0;
  struct Example {
    std::string path;    ///< in the source, as printable() writes it; a class or a split; or empty
    std::string detail;  ///< in words, may be empty
    std::vector<std::byte> picture = {};  ///< a small JPEG of the sample; empty if there is none
  };
  std::vector<Example> examples;  ///< the first by path
};

struct CheckReport {
  std::string taken_for;  ///< a name of all_sources(), or "url"; empty if it was not opened
  std::string detected;   ///< what its layout alone shows
  struct Split {
    std::string split;
    std::uint64_t samples = 0;
  };
  std::vector<Split> splits;
  std::uint64_t samples = 0, classes = 0, bytes = 0, objects = 0, object_classes = 0;
  std::uint64_t looked_at = 0;  ///< samples whose headers and annotations were read
  std::uint64_t decoded = 0;    ///< of them
  std::uint64_t known = 0;      ///< findings of the baseline, of samples each
  double seconds = 0;
  bool stopped = false;                ///< before everything was looked at
  std::vector<std::string> notes;      ///< of the source, in words
  std::vector<CheckFinding> findings;  ///< the most severe first, then by code

  std::uint64_t count(Severity severity) const;  ///< findings of it, not their samples
};

/// The examples of a report, for later checks to count as known: a line each, "PH201 train/a.jpg".
std::string baseline_text(const CheckReport& report);

/// Checks the source at `path`: anything that pack() reads. Reads every image; memory is that of
/// the list of samples and, for duplicates, 40 bytes a sample. A stop ends it early: the report
/// then says so. Throws Error(kNotFound) when there is nothing at `path`, and kUsage for options
/// that make no sense. What is wrong with the source is a finding.
CheckReport check(const std::filesystem::path& path, const CheckOptions& options,
                  Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace packhorse

#pragma once

#include <string>
#include <vector>

#include "common/program.h"
#include "packhorse/packing/pack.h"

namespace packhorse {

/// The options that say what a source is and which of its samples count, for `pack` and for
/// commands that look at the source again later.
class SourceArguments {
 public:
  /// Fills `options`, which must outlive this.
  explicit SourceArguments(PackOptions& options) : options_(options) {}
  /// Declares the options; their headings in the help are `source` and `selection`.
  void setup(CLI::App& app, const std::string& source, const std::string& selection);
  /// Returns the name of one that was given, or nothing. Call it after parsing.
  std::string given() const;
  /// Reads the options into `options`. Call it after parsing. Throws Error(kUsage), and as reading
  /// the class list does.
  void read();

 private:
  PackOptions& options_;
  std::vector<const CLI::Option*> declared_;
  std::vector<std::string> labels_, fields_from_, optional_fields_from_, targets_;
  std::string classes_file_, target_classes_file_, split_folders_, fields_, split_, deduplicate_,
      key_dot_;
};

}  // namespace packhorse

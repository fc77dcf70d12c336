#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace packhorse::simulation {

/// The contents of files, by their names.
using Files = std::map<std::string, std::string>;

/// What worlds have in common: a source, and the dataset that is packed of it where nothing goes
/// wrong. Made once by a process; worlds do not change it.
struct Sample {
  std::filesystem::path source, packed;
  Files images;       ///< of `source`
  Files files;        ///< of `packed`
  Files other_files;  ///< of another dataset of `source`
};

/// All files below a folder.
Files files_below(const std::filesystem::path& folder);
struct SampleOptions {
  std::size_t side = 8;     ///< of the images, in pixels
  std::size_t largest = 8;  ///< of one of them
  bool splits = false;      ///< there are two, train and val
};
/// Makes the sample in a folder.
Sample make_sample(const std::filesystem::path& folder, const SampleOptions& options);

}  // namespace packhorse::simulation

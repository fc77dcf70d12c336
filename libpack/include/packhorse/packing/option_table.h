#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/option.h"
#include "packhorse/packing/pack.h"

/// All options of packing, and of what looks at a source again: a row each. A row is all that an
/// option needs to be on the command line, in Python, in docs/packing.md and in the names of
/// unfinished work.
namespace packhorse {

using PackOption = OptionOf<PackOptions>;
using OptionGroup = Option::Group;

/// In the order of the help, those of a group together.
std::span<const PackOption> pack_options();
std::span<const PackOption> pack_options(OptionGroup group);
/// Nothing where there is no such option.
const PackOption* find_pack_option(std::string_view name);

/// Who takes options of the table.
enum class OptionTaker : std::uint8_t {
  kPack,
  kVerify,  ///< also repair: what the manifest does not record
  kWriter,  ///< DatasetWriter
  kIndex,   ///< adopt()
};
std::vector<const PackOption*> pack_options(OptionTaker taker);

/// Sets what is given, in the order of the table. Throws Error(kUsage) for a value that is none,
/// for options that exclude each other, and for those that the image mode does not use.
void set_options(PackOptions& options, const GivenOptions& given);

/// Names what becomes of a sample that is listed: the receipts of shards begin with it.
std::string name_of_making(const PackOptions& options);
/// Names what all tasks of one job must have in common. It leaves out paths, which may differ
/// between machines: the listing shows what is in the files.
std::string name_of_all(const PackOptions& options);

}  // namespace packhorse

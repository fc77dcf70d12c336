#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option.h"
#include "packhorse/packing/pack.h"

/// All options of packing, verifying against a source and repairing, a row each. The command line,
/// Python, docs/reference and the names of unfinished work are made from the rows.
namespace packhorse {

using PackOption = OptionOf<PackOptions>;
using OptionGroup = Option::Group;

/// In the order of the help, those of a group together.
std::span<const PackOption> pack_options();
std::span<const PackOption> pack_options(OptionGroup group);
/// Nothing if there is no such option.
const PackOption* find_pack_option(std::string_view name);

/// The users of the table.
enum class OptionTaker : std::uint8_t {
  kPack,
  kVerify,  ///< also repair: what the manifest does not record
  kWriter,  ///< DatasetWriter
  kIndex,   ///< adopt()
  kCheck,   ///< check()
};
std::vector<const PackOption*> pack_options(OptionTaker taker);

/// Sets the given values, in the order of the table. Throws Error(kUsage) for an invalid value, for
/// options that exclude each other, and for those that the image mode does not use.
void set_options(PackOptions& options, const GivenOptions& given);

/// Names everything that shapes a listed sample: the receipts of shards begin with it.
std::string name_of_making(const PackOptions& options);
/// Names what all tasks of one job must have in common. It leaves out paths, which may differ
/// between machines: the listing shows what is in the files.
std::string name_of_all(const PackOptions& options);

}  // namespace packhorse

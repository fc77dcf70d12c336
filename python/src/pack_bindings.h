#pragma once

#include <nanobind/stl/pair.h>

#include <filesystem>
#include <string>

#include "bindings.h"
#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"
#include "packing/option_table.h"

/// The parts of packhorse._pack, which packs and verifies. Paths come as bytes (os.fsencode), since
/// file names may be no text; reports go out as the JSON that the commands print.
namespace packhorse::python {

void bind_pack(nb::module_& module);
void bind_inspect(nb::module_& module);
void bind_writer(nb::module_& module);

inline std::filesystem::path path_of(const nb::bytes& bytes) {
  return std::string(bytes.c_str(), bytes.size());
}

/// What keyword arguments give, of the options that the function takes; None gives nothing. Throws
/// TypeError for others, and Error as reading a list of classes does.
GivenOptions given_options(const nb::dict& values, OptionTaker taker);
/// Throws as set_options() does.
PackOptions pack_options_of(const GivenOptions& given);
/// The same as keyword_text(), with the flags of the table.
std::string pack_keyword_text(std::string_view name, std::string_view value);
void bind_options(nb::module_& module);

/// The objects of a sample on its way into a Writer.
struct GivenObjects {
  Objects objects;
  MaskSize masks = {};
};

/// From arrays that Python has checked the shapes of: boxes, labels, flags; areas, masks and
/// keypoints where there are any. Throws TypeError, ValueError.
GivenObjects given_objects(const nb::dict& given);

}  // namespace packhorse::python

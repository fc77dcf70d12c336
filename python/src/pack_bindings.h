#pragma once

#include <nanobind/stl/pair.h>

#include <filesystem>
#include <string>

#include "bindings.h"
#include "given.h"
#include "packhorse/packing/pack.h"
#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

/// The parts of packhorse._pack, which packs and verifies. Paths come as bytes (os.fsencode), since
/// file names may be no text; reports go out as the JSON that the commands print.
namespace packhorse::python {

void bind_pack(nb::module_& module);
void bind_inspect(nb::module_& module);
void bind_writer(nb::module_& module);

inline std::filesystem::path path_of(const nb::bytes& bytes) {
  return std::string(bytes.c_str(), bytes.size());
}

/// The options that Python's keyword arguments name; what is not in `given` keeps its default.
/// Throws Error(kUsage), TypeError.
PackOptions pack_options(const nb::dict& given);
/// The same for those that say what is in the images.
void take_target_options(const Given& given, TargetOptions& targets);

/// The objects of a sample on its way into a Writer.
struct GivenObjects {
  Objects objects;
  MaskSize masks = {};
};

/// From arrays that Python has checked the shapes of: boxes, labels, flags; areas, masks and
/// keypoints where there are any. Throws TypeError, ValueError.
GivenObjects given_objects(const nb::dict& given);

}  // namespace packhorse::python

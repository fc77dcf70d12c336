#pragma once

#include "bindings.h"
#include "packhorse/targets/objects.h"
#include "packhorse/targets/run_lengths.h"

namespace packhorse::python {

/// The objects of a sample on its way into a Writer.
struct GivenObjects {
  Objects objects;
  MaskSize masks = {};
};

/// From arrays that Python has checked the shapes of: boxes, labels, flags; areas, masks and
/// keypoints where there are any. Throws TypeError, ValueError.
GivenObjects given_objects(const nb::dict& given);

}  // namespace packhorse::python

#pragma once

#include "packhorse/format.h"

namespace packhorse::hdf5 {

/// HDF5 with flat bytes and offsets. layout.h draws it.
extern const Format kFormat;

}  // namespace packhorse::hdf5

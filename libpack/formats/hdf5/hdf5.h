#pragma once

#include "packhorse/formats/format.h"

namespace packhorse::hdf5 {

/// HDF5 with flat bytes and offsets. layout.h draws it.
extern const Format kFormat;
/// HDF5 of any writer, to be adopted. foreign_layout.h draws what is taken.
extern const Format kForeignFormat;

}  // namespace packhorse::hdf5

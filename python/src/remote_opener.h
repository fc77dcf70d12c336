#pragma once

#include <nanobind/nanobind.h>

/// packhorse._remote speaks to storage; each of the other modules has a copy of the library of its
/// own, which is given that module's opener, so that libcurl is loaded only where a URL is opened.
namespace packhorse::python {

namespace nb = nanobind;

void bind_remote_opener(nb::module_& module);

}  // namespace packhorse::python

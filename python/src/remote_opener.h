#pragma once

#include <nanobind/nanobind.h>

#include <stop_token>

#include "dataset/remote_files.h"

/// packhorse._remote speaks to storage; each of the other modules has a copy of the library of its
/// own, which is given that module's opener, so that libcurl is loaded only where a URL is opened.
namespace packhorse::python {

namespace nb = nanobind;

/// What packhorse._remote.enable() gives to the other modules, in a capsule.
struct RemoteDoor {
  RemoteOpener open;
  /// Has requests obey the stops of another module's threads.
  void (*obey)(std::stop_token (*current_stop)());
};

void bind_remote_opener(nb::module_& module);

}  // namespace packhorse::python

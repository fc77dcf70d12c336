#include "remote_opener.h"

#include "packhorse/dataset/remote_files.h"

namespace packhorse::python {

using namespace nb::literals;

void bind_remote_opener(nb::module_& module) {
  module.def(
      "set_remote_opener",
      [](const nb::capsule& opener) {
        set_remote_opener(reinterpret_cast<RemoteOpener>(opener.data()));
      },
      "opener"_a, "Opens datasets at URLs by what packhorse._remote.enable() gave");
}

}  // namespace packhorse::python

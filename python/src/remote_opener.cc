#include "remote_opener.h"

#include "base/stop.h"

namespace packhorse::python {

using namespace nb::literals;

void bind_remote_opener(nb::module_& module) {
  module.def(
      "set_remote_opener",
      [](const nb::capsule& opener) {
        const RemoteDoor& door = *static_cast<const RemoteDoor*>(opener.data());
        set_remote_opener(door.open);
        door.obey(current_stop);
      },
      "opener"_a, "Opens datasets at URLs by what packhorse._remote.enable() gave");
}

}  // namespace packhorse::python


#include "base/stop.h"
#include "bindings.h"
#include "dataset/remote_files.h"
#include "option_values.h"
#include "packhorse/storage/remote.h"
#include "remote_opener.h"
#include "storage/dataset/remote_table.h"

namespace packhorse::python {

using namespace nb::literals;

namespace {

std::shared_ptr<RemoteFiles> open_files(const std::string& url) { return open_remote(url); }

nb::capsule enable(const nb::dict& given) {
  RemoteOptions options;
  options.cache = default_cache_directory();
  set_given(options, remote_options(), values_by_name(given, remote_options()));
  enable_remote(options);
  static constexpr RemoteDoor kDoor{open_files, add_stop_of_other_copy};
  return {&kDoor, "packhorse.RemoteDoor"};
}

nb::dict counters() {
  const RemoteCounters all = remote_counters();
  nb::dict made;
  made["requests"] = all.storage.requests;
  made["retries"] = all.storage.retries;
  made["failed_requests"] = all.storage.failed;
  made["received_bytes"] = all.storage.bytes;
  made["runs_fetched"] = all.runs_fetched;
  made["runs_cached"] = all.runs_found;
  made["damaged"] = all.damaged;
  made["waits"] = all.waits;
  made["wait_s"] = static_cast<double>(all.wait_ns) / 1e9;
  return made;
}

}  // namespace

void bind_remote(nb::module_& module) {
  module.def("enable", &enable, "given"_a,
             "Speaks to storage in this way from now on; returns what set_remote_opener() takes");
  module.def(
      "options", [] { return described(remote_options()); },
      "The options of enable(): what scripts/options makes");
  module.def("counters", &counters, "What was fetched so far");
}

}  // namespace packhorse::python

NB_MODULE(_remote, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  packhorse::python::translate_errors();
  packhorse::python::bind_remote(module);
}

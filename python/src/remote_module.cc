#include "bindings.h"
#include "packhorse/base/stop.h"
#include "packhorse/dataset/remote_files.h"
#include "packhorse/storage/cache.h"
#include "packhorse/storage/remote.h"
#include "remote_opener.h"

namespace packhorse::python {

using namespace nb::literals;

namespace {

std::shared_ptr<RemoteFiles> open_files(const std::string& url) { return open_remote(url); }

nb::capsule enable(const std::optional<std::string>& cache, std::uint64_t cache_bytes,
                   std::uint64_t memory_bytes, const std::string& endpoint,
                   const std::string& region, bool sign,
                   const std::vector<std::string>& url_command) {
  RemoteOptions options;
  options.cache = cache ? std::filesystem::path(*cache) : default_cache_directory();
  options.cache_bytes = cache_bytes;
  options.memory_bytes = memory_bytes;
  options.storage.endpoint = endpoint;
  options.storage.region = region;
  options.storage.anonymous = !sign;
  options.storage.url_command = url_command;
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
  module.def("enable", &enable, "cache"_a.none(), "cache_bytes"_a, "memory_bytes"_a, "endpoint"_a,
             "region"_a, "sign"_a, "url_command"_a,
             "Speaks to storage in this way from now on; returns what set_remote_opener() takes. A "
             "cache of None: the usual place; \"\": memory alone");
  module.def("counters", &counters, "What came from afar so far");
}

}  // namespace packhorse::python

NB_MODULE(_remote, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  packhorse::python::translate_errors();
  packhorse::python::bind_remote(module);
}

#include "bindings.h"
#include "others_run.h"
#include "remote_opener.h"

NB_MODULE(_reader, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  packhorse::python::translate_errors();
  packhorse::python::bind_augment(module);
  packhorse::python::bind_detection(module);
  packhorse::python::bind_targets(module);
  packhorse::python::bind_dataset(module);
  packhorse::python::bind_loader(module);
  packhorse::python::bind_remote_opener(module);
  packhorse::python::OthersRun::stay_at_exit(module, packhorse::python::stop_loaders);
}

#include "others_run.h"
#include "pack_bindings.h"
#include "remote_opener.h"

NB_MODULE(_pack, module) {
  nanobind::set_leak_warnings(false);  // what lives at the interpreter's exit is no leak
  packhorse::python::translate_errors();
  static constexpr packhorse::OptionSpelling kKeywords = {packhorse::python::pack_keyword_text,
                                                          packhorse::python::call_text};
  packhorse::spell_options(&kKeywords);
  packhorse::python::bind_options(module);
  packhorse::python::bind_pack(module);
  packhorse::python::bind_inspect(module);
  packhorse::python::bind_writer(module);
  packhorse::python::bind_remote_opener(module);
  packhorse::python::OthersRun::stay_at_exit(module);
}

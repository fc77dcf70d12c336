#pragma once

#include <dlfcn.h>

/// The C library's own function of a name that this program replaces, in the replacement.
#define PACKHORSE_REAL(name) \
  static const auto real = reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name))

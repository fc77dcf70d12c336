#include "codecs/shared_library.h"

#include <dlfcn.h>

namespace packhorse::codecs {

SharedLibrary::SharedLibrary(const char* name) : name_(name) {
  if (*name == '\0') {
    why_not_ = "packhorse was built without its library";
    return;
  }
  handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) why_not_ = std::string(name) + " is not on this machine";
}

void* SharedLibrary::symbol(const char* name) {
  void* found = handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
  if (found == nullptr && handle_ != nullptr) {
    handle_ = nullptr;
    why_not_ = std::string(name_) + " is another version";
  }
  return found;
}

}  // namespace packhorse::codecs

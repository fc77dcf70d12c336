#include "input/gpu_decode/nvjpeg_library.h"

#include <dlfcn.h>

#include <string>

#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

#define PACKHORSE_TEXT_OF(x) #x
#define PACKHORSE_NVJPEG_NAME(major) "libnvjpeg.so." PACKHORSE_TEXT_OF(major)

[[noreturn]] void refuse() {
  const char* why = ::dlerror();
  throw Error(ErrorKind::kUnsupported,
              std::string("nvJPEG cannot be loaded: ") + (why != nullptr ? why : "unknown"), {},
              "install it (pip install nvidia-nvjpeg, beside torch), or use `gpu_decode=off`");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) refuse();
}

NvJpegLibrary load() {
  void* handle = ::dlopen(PACKHORSE_NVJPEG_NAME(NVJPEG_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) refuse();
  NvJpegLibrary library;
  find(handle, "nvjpegCreateEx", library.create_ex);
  find(handle, "nvjpegDestroy", library.destroy);
  find(handle, "nvjpegJpegStateCreate", library.state_create);
  find(handle, "nvjpegJpegStateDestroy", library.state_destroy);
  find(handle, "nvjpegJpegStreamCreate", library.stream_create);
  find(handle, "nvjpegJpegStreamDestroy", library.stream_destroy);
  find(handle, "nvjpegJpegStreamParse", library.stream_parse);
  find(handle, "nvjpegDecodeBatchedSupported", library.batched_supported);
  find(handle, "nvjpegDecodeBatchedInitialize", library.batched_initialize);
  find(handle, "nvjpegDecodeBatched", library.batched);
  return library;
}

}  // namespace

const NvJpegLibrary& NvJpegLibrary::get() {
  static const NvJpegLibrary kLibrary = load();
  return kLibrary;
}

}  // namespace packhorse::trainer

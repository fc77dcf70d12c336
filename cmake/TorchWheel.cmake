# torch::wheel: LibTorch from the PyPI wheel as one imported target. torch's own CMake package is not used:
# it demands a CUDA toolkit even for CPU programs and picks up a distribution's libtorch where there is one.
set(TORCH_SITE "" CACHE PATH "site-packages folder that holds torch/ and nvidia/ (default: .venv's)")
set(_torch_site "${TORCH_SITE}")
if(NOT _torch_site)
  file(GLOB _torch_sites "${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages")
  foreach(_site IN LISTS _torch_sites)
    if(EXISTS "${_site}/torch/lib/libtorch_cpu.so")
      cmake_path(ABSOLUTE_PATH _site NORMALIZE OUTPUT_VARIABLE _torch_site)
    endif()
  endforeach()
endif()
if(NOT EXISTS "${_torch_site}/torch/lib/libtorch_cpu.so")
  message(FATAL_ERROR
    "LibTorch not found. Run scripts/setup (it puts the torch wheel into .venv), or set TORCH_SITE to a "
    "site-packages folder with torch, or use the preset 'core' to build without the trainer.")
endif()
file(STRINGS "${_torch_site}/torch/version.py" _torch_version REGEX "^__version__ = ")
string(REGEX REPLACE ".*'([^']*)'.*" "\\1" PACKHORSE_TORCH_VERSION "${_torch_version}")
message(STATUS "LibTorch ${PACKHORSE_TORCH_VERSION} from the wheel in ${_torch_site}")

add_library(torch::wheel INTERFACE IMPORTED GLOBAL)
target_include_directories(torch::wheel SYSTEM INTERFACE
  "${_torch_site}/torch/include" "${_torch_site}/torch/include/torch/csrc/api/include")
# The wheel's include folder holds {fmt} headers of a later release than the system's library, and they are found first.
# A target that uses torch::wheel therefore uses {fmt} as headers only (an inline namespace separates the releases).
target_compile_definitions(torch::wheel INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
target_link_libraries(torch::wheel INTERFACE
  "${_torch_site}/torch/lib/libtorch_cpu.so" "${_torch_site}/torch/lib/libc10.so")
set(PACKHORSE_TORCH_SITE "${_torch_site}")
set(PACKHORSE_TORCH_LIBRARY_DIRS "${_torch_site}/torch/lib")
set(PACKHORSE_TORCH_HAS_CUDA OFF)
if(EXISTS "${_torch_site}/torch/lib/libtorch_cuda.so")
  set(PACKHORSE_TORCH_HAS_CUDA ON)
  # No symbol of libtorch_cuda is referenced by name; without --no-as-needed its kernels would vanish.
  target_link_libraries(torch::wheel INTERFACE
    "-Wl,--push-state,--no-as-needed" "${_torch_site}/torch/lib/libtorch_cuda.so"
    "${_torch_site}/torch/lib/libc10_cuda.so" "-Wl,--pop-state")
  target_compile_definitions(torch::wheel INTERFACE USE_C10D_NCCL)
  file(GLOB _cudart "${_torch_site}/nvidia/cu1[0-9]/lib/libcudart.so.[0-9]*")
  file(GLOB _nvidia_include "${_torch_site}/nvidia/cu1[0-9]/include" "${_torch_site}/nvidia/*/include")
  list(GET _cudart 0 _cudart)
  target_link_libraries(torch::wheel INTERFACE "${_cudart}")
  get_filename_component(_cudart "${_cudart}" DIRECTORY)
  list(APPEND PACKHORSE_TORCH_LIBRARY_DIRS "${_cudart}")
  target_include_directories(torch::wheel SYSTEM INTERFACE ${_nvidia_include})
endif()

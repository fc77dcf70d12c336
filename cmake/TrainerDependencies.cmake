# The libraries that the trainer links beside LibTorch (TorchWheel.cmake) and those of Dependencies.cmake.
include(CMakeFindDependencyMacro)
find_package(Boost 1.74 REQUIRED)  # headers alone: Beast

# What the trainer links beside LibTorch (TorchWheel.cmake) and the libraries of Dependencies.cmake.
include(CMakeFindDependencyMacro)
find_package(prometheus-cpp REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone: Beast

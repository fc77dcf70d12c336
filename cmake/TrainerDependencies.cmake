# What the trainer links beside LibTorch (TorchWheel.cmake) and the libraries of Dependencies.cmake.
include(CMakeFindDependencyMacro)
find_package(prometheus-cpp REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET GLOBAL cpp-httplib)

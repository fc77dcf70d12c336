# The libraries that the trainer links beside LibTorch (TorchWheel.cmake) and those of Dependencies.cmake.
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET GLOBAL libmicrohttpd)  # Prometheus' port

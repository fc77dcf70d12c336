# Every library that packhorse::core links. The installed package includes this same file.
include(CMakeFindDependencyMacro)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(JPEG REQUIRED)

pkg_check_modules(LIBPNG REQUIRED IMPORTED_TARGET GLOBAL libpng)  # by FindPNG it would bring zlib
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL libhwy)

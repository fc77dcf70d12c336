# Every library that packhorse::core links. The installed package includes this same file.
include(CMakeFindDependencyMacro)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(JPEG REQUIRED)

pkg_check_modules(LIBPNG REQUIRED IMPORTED_TARGET GLOBAL libpng)  # by FindPNG it would bring zlib
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET GLOBAL libdeflate)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET GLOBAL libwebp libwebpdemux)
pkg_check_modules(TIFF REQUIRED IMPORTED_TARGET GLOBAL libtiff-4)
if(NOT TARGET packhorse_gif)  # giflib has no file for pkg-config, and by FindGIF it would be one of CMake's modules
  find_path(PACKHORSE_GIF_INCLUDE gif_lib.h REQUIRED)
  find_library(PACKHORSE_GIF_LIBRARY gif REQUIRED)
  add_library(packhorse_gif INTERFACE IMPORTED GLOBAL)
  target_include_directories(packhorse_gif SYSTEM INTERFACE "${PACKHORSE_GIF_INCLUDE}")
  target_link_libraries(packhorse_gif INTERFACE "${PACKHORSE_GIF_LIBRARY}")
endif()
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL libhwy)

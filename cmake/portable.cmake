# Toolchain file: builds for any Linux whose C library is new enough, with the compiler and the static libraries that
# scripts/wheel_libraries makes for PACKHORSE_TARGET, e.g. x86_64-linux-gnu.2.28.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PACKHORSE_TARGET)
string(REGEX MATCH "^[^-]+" _processor "${PACKHORSE_TARGET}")
cmake_path(SET _libraries NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/wheel-libraries/${PACKHORSE_TARGET}")
if(NOT _processor STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${_processor})
endif()
set(CMAKE_C_COMPILER "${_libraries}/bin/cc")
set(CMAKE_CXX_COMPILER "${_libraries}/bin/c++")
set(CMAKE_ASM_NASM_COMPILER "${_libraries}/prefix/bin/nasm")
set(CMAKE_AR "${_libraries}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${_libraries}/bin/ranlib" CACHE FILEPATH "")

# Each extension module has a libc++ of its own, and hides it: modules export nothing but what Python looks for. An error
# that one throws and another catches is known there by the name of its type, and one libgcc_s, the system's, unwinds the
# stack.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/portable.map")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-L${_libraries}/prefix/lib -lpackhorse_typeinfo ${_libraries}/prefix/lib/libgcc_s.so.1 -llzma -lbz2")

# What is found is what was made: nothing of this machine.
set(CMAKE_FIND_ROOT_PATH "${_libraries}/prefix")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(_kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${_kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} "${_libraries}/prefix/lib/pkgconfig")
set(PKG_CONFIG_ARGN --static)

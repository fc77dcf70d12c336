# Finds every library that packhorse links. The installed package includes this same file, so a project that calls
# find_package(packhorse) need not know them. Nothing is downloaded.
include("${CMAKE_CURRENT_LIST_DIR}/CoreDependencies.cmake")
find_package(CLI11 REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(TBB REQUIRED)
find_package(LibArchive REQUIRED)
find_package(ZLIB REQUIRED)

pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET GLOBAL lmdb)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET GLOBAL hdf5)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET GLOBAL libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET GLOBAL libutf8proc)
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET GLOBAL pugixml)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET GLOBAL yaml-0.1)

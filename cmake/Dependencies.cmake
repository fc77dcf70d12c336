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

# OpenCV: three of its modules, found by file. OpenCV's own CMake package comes only with all of OpenCV (libopencv-dev),
# which would pull in GUI and video libraries that packhorse does not use.
if(NOT TARGET packhorse_opencv)
  find_path(PACKHORSE_OPENCV_INCLUDE opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
  add_library(packhorse_opencv INTERFACE IMPORTED GLOBAL)
  target_include_directories(packhorse_opencv SYSTEM INTERFACE "${PACKHORSE_OPENCV_INCLUDE}")
  foreach(module imgproc core)
    find_library(PACKHORSE_OPENCV_${module} opencv_${module} REQUIRED)
  endforeach()
  target_link_libraries(packhorse_opencv INTERFACE "${PACKHORSE_OPENCV_imgproc}" "${PACKHORSE_OPENCV_core}")
endif()

# The programs load this module when an image needs it (opencv_codecs.h); the tests link it. Not set where packhorse is
# installed: only building it needs the module.
if(PACKHORSE_IMAGE_CODECS AND NOT TARGET packhorse_opencv_imgcodecs)
  find_library(PACKHORSE_OPENCV_imgcodecs opencv_imgcodecs REQUIRED)
  add_library(packhorse_opencv_imgcodecs INTERFACE IMPORTED GLOBAL)
  target_link_libraries(packhorse_opencv_imgcodecs INTERFACE packhorse_opencv "${PACKHORSE_OPENCV_imgcodecs}")
endif()

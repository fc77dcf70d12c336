# OpenCV, for pictures that people look at: two of its modules, found by file. OpenCV's own CMake package comes only with all of OpenCV (libopencv-dev),
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

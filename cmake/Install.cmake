# cmake --install and find_package(packhorse): targets packhorse::core, packhorse::reader and packhorse::pack, and with
# COMPONENTS trainer also packhorse::trainer. tests/consumer proves it.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/packhorse")

# packhorse_install(<export> <file of dependencies> TARGETS ... HEADERS <folder>...)
function(packhorse_install export)
  cmake_parse_arguments(ARG "" "" "TARGETS;HEADERS;FILES" ${ARGN})
  install(TARGETS ${ARG_TARGETS} EXPORT ${export}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${export} NAMESPACE packhorse:: DESTINATION ${_package_dir})
  install(DIRECTORY ${ARG_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${ARG_FILES} DESTINATION ${_package_dir})
endfunction()

packhorse_install(packhorseCoreTargets TARGETS packhorse_dataset packhorse_jpeg packhorse_core
                  HEADERS libpack/include/ reader/include/ FILES cmake/CoreDependencies.cmake)
if(TARGET packhorse_pack)
  packhorse_install(packhorseTargets TARGETS packhorse_pack packhorse_reader
                    HEADERS libpack/include/ FILES cmake/Dependencies.cmake)
endif()
if(TARGET packhorse_trainer)
  packhorse_install(packhorseTrainerTargets TARGETS packhorse_trainer HEADERS trainer/include/
                    FILES cmake/TorchWheel.cmake cmake/TrainerDependencies.cmake)
endif()

configure_package_config_file(cmake/packhorseConfig.cmake.in
  "${CMAKE_BINARY_DIR}/packhorseConfig.cmake" INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/packhorseConfig.cmake" "${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake"
        DESTINATION ${_package_dir})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

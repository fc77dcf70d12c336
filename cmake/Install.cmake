# cmake --install and find_package(packhorse): targets packhorse::pack, packhorse::jpeg and packhorse::reader, and with
# COMPONENTS trainer also packhorse::trainer. tests/consumer proves it.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/packhorse")

install(TARGETS packhorse_pack packhorse_jpeg packhorse_reader EXPORT packhorseTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT packhorseTargets NAMESPACE packhorse:: DESTINATION ${_package_dir})
install(DIRECTORY libpack/include/ reader/include/ libpack/jpeg/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET packhorse_trainer)
  install(TARGETS packhorse_trainer EXPORT packhorseTrainerTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT packhorseTrainerTargets NAMESPACE packhorse:: DESTINATION ${_package_dir})
  install(DIRECTORY trainer/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES cmake/TorchWheel.cmake cmake/TrainerDependencies.cmake DESTINATION ${_package_dir})
endif()

configure_package_config_file(cmake/packhorseConfig.cmake.in
  "${CMAKE_BINARY_DIR}/packhorseConfig.cmake" INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES cmake/Dependencies.cmake "${CMAKE_BINARY_DIR}/packhorseConfig.cmake"
              "${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake" DESTINATION ${_package_dir})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# cmake --install and find_package(packhorse): targets packhorse::core, packhorse::reader, packhorse::storage and
# packhorse::pack, and with COMPONENTS trainer also packhorse::trainer; the first four also by pkg-config. tests/consumer proves it.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/packhorse")

# packhorse_install(<export> <component> TARGETS ... HEADERS <folder or header in an include/packhorse>...
#                   FILES <file of dependencies>...)
function(packhorse_install export component)
  cmake_parse_arguments(ARG "" "" "TARGETS;HEADERS;FILES" ${ARGN})
  install(TARGETS ${ARG_TARGETS} EXPORT ${export}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT ${export} NAMESPACE packhorse:: DESTINATION ${_package_dir} COMPONENT ${component})
  foreach(_header IN LISTS ARG_HEADERS)
    set(_kind DIRECTORY)
    if(_header MATCHES "\\.h$")
      set(_kind FILES)
    endif()
    install(${_kind} ${_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/packhorse COMPONENT ${component})
  endforeach()
  install(FILES ${ARG_FILES} DESTINATION ${_package_dir} COMPONENT ${component})
endfunction()

# packhorse_pkg_config(<name> <description> LIBRARIES <of ours>... REQUIRES <modules>... OTHERS <linker flags>...): only
# static libraries are installed, so those they need are always linked with them.
function(packhorse_pkg_config name PC_DESCRIPTION)
  cmake_parse_arguments(PC "" "" "LIBRARIES;REQUIRES;OTHERS" ${ARGN})
  list(TRANSFORM PC_LIBRARIES PREPEND -lpackhorse_)
  foreach(_list LIBRARIES REQUIRES OTHERS)
    list(JOIN PC_${_list} " " PC_${_list})
  endforeach()
  set(PC_NAME ${name})
  set(_pc_dir "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  cmake_path(RELATIVE_PATH _pc_dir BASE_DIRECTORY / OUTPUT_VARIABLE _down)
  string(REGEX REPLACE "[^/]+" ".." PC_UP "${_down}")
  configure_file(cmake/packhorse.pc.in "${CMAKE_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

set(_core_libraries dataset jpeg)
set(_core_requires fmt libxxhash libzstd libhwy libcrypto libjpeg libpng libdeflate libwebp libwebpdemux libtiff-4)
# What packhorse::core installs is what it can link: the headers of the folders that packhorse_dataset and packhorse_jpeg
# are made of, and the reader's.
set(_core_headers base dataset image jpeg targets version.h)
list(TRANSFORM _core_headers PREPEND libpack/include/packhorse/)
packhorse_install(packhorseCoreTargets dev TARGETS packhorse_dataset packhorse_jpeg packhorse_core
                  HEADERS ${_core_headers} reader/include/packhorse/reader FILES cmake/CoreDependencies.cmake)
set(_core_others -lgif)
packhorse_pkg_config(packhorse-core "Reads packed datasets" LIBRARIES core ${_core_libraries}
                     REQUIRES ${_core_requires} OTHERS ${_core_others})
if(TARGET packhorse_pack)
  packhorse_pkg_config(packhorse-storage "Reads ranges of objects over HTTP and from S3"
                       LIBRARIES storage ${_core_libraries} REQUIRES ${_core_requires} libcurl pugixml
                       OTHERS ${_core_others})
  packhorse_install(packhorseTargets dev TARGETS packhorse_storage packhorse_pack packhorse_reader
                    HEADERS libpack/include/packhorse/ FILES cmake/Dependencies.cmake)
  set(_pack_requires ${_core_requires} libarchive zlib tbb lmdb hdf5 libpcre2-8 libutf8proc pugixml yaml-0.1)
  packhorse_pkg_config(packhorse "Packs image folders into shards, and proves them"
                       LIBRARIES pack ${_core_libraries} REQUIRES ${_pack_requires} OTHERS ${_core_others})
  packhorse_pkg_config(packhorse-reader "Reads packed datasets and plain class folders"
                       LIBRARIES reader pack ${_core_libraries} REQUIRES ${_pack_requires} OTHERS ${_core_others})
endif()
if(TARGET packhorse_trainer)
  packhorse_install(packhorseTrainerTargets trainer-dev TARGETS packhorse_trainer
                    HEADERS trainer/include/packhorse/trainer
                    FILES cmake/TorchWheel.cmake cmake/TrainerDependencies.cmake)
endif()

configure_package_config_file(cmake/packhorseConfig.cmake.in
  "${CMAKE_BINARY_DIR}/packhorseConfig.cmake" INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/packhorseConfig.cmake" "${CMAKE_BINARY_DIR}/packhorseConfigVersion.cmake"
        DESTINATION ${_package_dir} COMPONENT dev)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)

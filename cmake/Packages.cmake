# cpack: three Debian packages. packhorse has the program with its man pages and completions, libpackhorse-dev the
# headers and static libraries, packhorse-train the trainer without LibTorch. scripts/package builds and makes all of them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "packhorse")
set(CPACK_PACKAGE_CONTACT "packhorse developers <packhorse@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_BINARY_DIR}/PackageDepends.cmake")
set(CPACK_COMPONENTS_ALL tools dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME packhorse)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "packs image folders into verified shards for training
 packhorse packs image folders, lists and archives into WebDataset tar, LMDB or
 HDF5 shards, proves that the shards hold exactly what the folder held, shows
 them, repairs them, and measures how fast they are read.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "packhorse-train, libpackhorse-dev")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpackhorse-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "headers and static libraries of packhorse
 For programs that read packed datasets or pack them: packhorse::core,
 packhorse::reader and packhorse::pack for CMake's find_package, and
 packhorse-core, packhorse-reader and packhorse for pkg-config.")
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  libarchive-dev libcli11-dev libcurl4-openssl-dev libfmt-dev libhdf5-dev libhwy-dev libjpeg-dev liblmdb-dev
  libdeflate-dev libgif-dev libpcre2-dev libpng-dev libpugixml-dev libssl-dev libtbb-dev libtiff-dev
  libutf8proc-dev libwebp-dev libxxhash-dev libyaml-dev libzstd-dev nlohmann-json3-dev pkg-config zlib1g-dev)

set(_packages packhorse libpackhorse-dev)
if(TARGET packhorse-train)
  list(APPEND CPACK_COMPONENTS_ALL trainer)
  list(APPEND _packages packhorse-train)
  set(CPACK_DEBIAN_TRAINER_PACKAGE_NAME packhorse-train)
  string(REGEX REPLACE "\\+.*" "" _release "${PACKHORSE_TORCH_VERSION}")
  set(CPACK_COMPONENT_TRAINER_DESCRIPTION "trains image classifiers from packed shards or folders
 LibTorch is not in this package: it comes from a Python with torch ${_release},
 for example
   python3 -m venv /opt/torch
   /opt/torch/bin/pip install torch==${_release}
   packhorse-use-torch /opt/torch/bin/python")
  set(CPACK_DEBIAN_TRAINER_PACKAGE_RECOMMENDS "python3-venv")
  set(CPACK_DEBIAN_TRAINER_PACKAGE_SUGGESTS "packhorse")
endif()
foreach(_component _package IN ZIP_LISTS CPACK_COMPONENTS_ALL _packages)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${_package} RENAME copyright COMPONENT ${_component})
endforeach()
configure_file(cmake/PackageDepends.cmake.in "${CMAKE_BINARY_DIR}/PackageDepends.cmake" @ONLY)
include(CPack)

# packhorse_unity(<target>): the files of a folder are compiled as one, which reads the headers and instantiates the
# templates once. Folders beside each other join until they have the target's property PACKHORSE_UNITY_KB (default: 0, each
# folder alone): that pays where headers are large. Files with compile options of their own stay apart: CMake sees to it.
function(packhorse_unity target)
  get_target_property(_sources ${target} SOURCES)
  get_target_property(_limit ${target} PACKHORSE_UNITY_KB)
  foreach(_source IN LISTS _sources)
    cmake_path(ABSOLUTE_PATH _source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(_source MATCHES "\\.cc$")
      list(APPEND _files "${_source}")
    endif()
  endforeach()
  list(SORT _files)
  set(_group "")
  set(_bytes 0)
  foreach(_file IN LISTS _files)
    cmake_path(GET _file PARENT_PATH _folder)
    if(NOT _folder STREQUAL _last_folder)
      set(_last_folder "${_folder}")
      math(EXPR _kb "${_bytes} / 1024")
      if(NOT _group OR NOT _limit OR _kb GREATER_EQUAL _limit)
        cmake_path(RELATIVE_PATH _folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        string(MAKE_C_IDENTIFIER "${_folder}" _group)
        set(_bytes 0)
      endif()
    endif()
    file(SIZE "${_file}" _size)
    math(EXPR _bytes "${_bytes} + ${_size}")
    set_source_files_properties("${_file}" PROPERTIES UNITY_GROUP ${_group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes the included .cc for a header, where a class with members of unnamed namespaces would be a mistake.
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-Wno-subobject-linkage>)
endfunction()

# packhorse_target(<target>): the settings that every target of the project shares and does not export. Headers that are
# not installed lie beside their sources, and are included by their path in the library (libpack, reader or trainer):
# "base/file.h". scripts/check says who may include which, and that no two have the same path.
function(packhorse_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/libpack" "${PROJECT_SOURCE_DIR}/reader"
                                               "${PROJECT_SOURCE_DIR}/trainer")
  # -ffp-contract=off: an addition that is fused with a multiplication rounds once, and which are fused depends on the
  # processor. The same draws, pixels and boxes must come out on each.
  # -Wno-restrict: g++ 12 warns about its own std::string (GCC bug 105651).
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion>
    $<$<AND:$<BOOL:${PACKHORSE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
  if(PACKHORSE_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PACKHORSE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${PACKHORSE_SANITIZE})
  endif()
  get_target_property(_vectors ${target} PACKHORSE_VECTORS)
  if(PACKHORSE_UNITY AND NOT _vectors)
    packhorse_unity(${target})
  endif()
endfunction()

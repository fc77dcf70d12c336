# packhorse_loaded_codec(<target> <library> <name> <header>): a codec whose library is loaded when a file needs it, and need
# not be there. Where this system has it, the target is compiled with its header, and with the name under which the loader
# finds it, as PACKHORSE_LIB<name>: of libavif.so -> libavif.so.15 -> libavif.so.15.0.1 the one in the middle, its soname.
function(packhorse_loaded_codec target library name header)
  find_path(PACKHORSE_${name}_INCLUDE ${header})
  find_library(PACKHORSE_${name}_LIBRARY ${library})
  if(NOT PACKHORSE_${name}_INCLUDE OR NOT PACKHORSE_${name}_LIBRARY)
    message(STATUS "Without lib${library}: such images will be refused.")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${PACKHORSE_${name}_LIBRARY}" OUTPUT_VARIABLE _headers
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "SONAME +([^ \n]+)" _match "${_headers}")
  target_include_directories(${target} SYSTEM PRIVATE "${PACKHORSE_${name}_INCLUDE}")
  target_compile_definitions(${target} PRIVATE PACKHORSE_LIB${name}="${CMAKE_MATCH_1}")
endfunction()

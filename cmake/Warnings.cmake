# packhorse_target(<target>): the settings that every target of the project shares and does not export.
function(packhorse_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # -Wno-restrict: g++ 12 warns about its own std::string (GCC bug 105651).
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion>
    $<$<AND:$<BOOL:${PACKHORSE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
  if(PACKHORSE_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PACKHORSE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${PACKHORSE_SANITIZE})
  endif()
  if(PACKHORSE_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "clang-tidy;--quiet")
  endif()
endfunction()

# packhorse_vectors(<target> [<file>...]): these files of it are compiled for several instruction sets, by Highway, and
# each alone, as such files cannot share one. Without files: all of the target, so that none's speed depends on its
# neighbours.
function(packhorse_vectors target)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    set_target_properties(${target} PROPERTIES PACKHORSE_VECTORS ON)
  endif()
  target_link_libraries(${target} PRIVATE PkgConfig::HWY)
  if(CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O0")  # the preset sanitize's, with which vectors are very slow
    if(ARGN)
      set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O1)
    else()
      target_compile_options(${target} PRIVATE -O1)
    endif()
  endif()
  # Vectors whose length is not known when compiling are left out: pixels and coefficients lie in parts of 128 bits.
  set(_left_out HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV)
  if(PACKHORSE_FUZZ)
    # With sanitizers clang takes minutes for a file of vector code: AVX2 is kept, and what any processor has.
    list(APPEND _left_out HWY_AVX3 HWY_AVX3_DL HWY_SSE4 HWY_SSSE3)
  endif()
  list(JOIN _left_out | _left_out)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${_left_out})")
endfunction()

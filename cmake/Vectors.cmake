# packhorse_vectors(<target>): some of its files are compiled for several instruction sets, by Highway. Each of its files
# is compiled alone: such files cannot share one, and the speed of the others should not depend on their neighbours.
function(packhorse_vectors target)
  set_target_properties(${target} PROPERTIES PACKHORSE_VECTORS ON)
  target_link_libraries(${target} PRIVATE PkgConfig::HWY)
  # Vectors whose length is not known when compiling are left out: pixels and coefficients lie in parts of 128 bits.
  set(_left_out HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV)
  if(PACKHORSE_FUZZ)
    # With sanitizers clang takes minutes for a file of vector code: AVX2 is kept, and what any processor has.
    list(APPEND _left_out HWY_AVX3 HWY_AVX3_DL HWY_SSE4 HWY_SSSE3)
  endif()
  list(JOIN _left_out | _left_out)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${_left_out})")
endfunction()

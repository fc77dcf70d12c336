# Installs the build into a scratch prefix, builds the consumers against it with CMake and with pkg-config, and runs them
# and the installed programs.
set(work "${BUILD}/consumer")
file(REMOVE_RECURSE "${work}")
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${work}/prefix")
run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${work}/prefix"
    "-DCMAKE_BUILD_TYPE=Release")
run(${CMAKE_COMMAND} --build "${work}/build")
run("${work}/build/consumer" "${SOURCE}/../../samples/shapes" "${work}/packed")
run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${work}/core" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${work}/prefix"
    "-DCMAKE_BUILD_TYPE=Release" -DCORE=ON)
run(${CMAKE_COMMAND} --build "${work}/core")
run("${work}/prefix/bin/packhorse" pack "${SOURCE}/../../samples/shapes" "${work}/jpegs" --format wds --image raw --size 64)
run("${work}/core/consumer" "${work}/jpegs/train")
run("${work}/prefix/bin/packhorse" --version)

set(ENV{PKG_CONFIG_PATH} "${work}/prefix/${LIBDIR}/pkgconfig")
function(build_by_pkg_config module source program)
  execute_process(COMMAND pkg-config --cflags --libs ${module} OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 "${source}" -o "${program}" ${flags})
endfunction()
build_by_pkg_config(packhorse-reader "${SOURCE}/main.cc" "${work}/by_pkg_config")
run("${work}/by_pkg_config" "${SOURCE}/../../samples/shapes" "${work}/packed_again")
build_by_pkg_config(packhorse-core "${SOURCE}/../core/read_dataset.cc" "${work}/core_by_pkg_config")
run("${work}/core_by_pkg_config" "${work}/jpegs/train")
run(pkg-config --exists --print-errors "packhorse = ${VERSION}")

if(TRAINER)
  run("${work}/prefix/bin/packhorse-train" measure --folder "${SOURCE}/../../samples/shapes" --packed "${work}/packed/train"
      --arch smallnet --image-size 32 --batch-size 16 --repeats 1 --max-seconds 0.1 --steps 2 --workers 1)
endif()

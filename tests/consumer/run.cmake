# Installs the build into a scratch prefix, builds the consumers against it in another, and runs them.
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

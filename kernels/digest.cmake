# Digests of the kernel sources, the same as mdqr/_backend/sources.py computes: the SHA-256 of the
# lines "path sha256", sorted by path. Configuring runs again when one of the files changes.
function(mdqr_digest result)
    set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    set(names ${ARGN})
    list(SORT names COMPARE STRING CASE SENSITIVE)
    set(lines "")
    foreach(name IN LISTS names)
        file(SHA256 "${folder}/${name}" hash)
        string(APPEND lines "${name} ${hash}\n")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}")
    endforeach()
    string(SHA256 hash "${lines}")
    set(${result} "${hash}" PARENT_SCOPE)
endfunction()

set(mdqr_kernels "${CMAKE_CURRENT_LIST_DIR}")
file(GLOB_RECURSE include_files RELATIVE "${mdqr_kernels}" "${mdqr_kernels}/include/*.hpp"
     "${mdqr_kernels}/include/*.def")
file(GLOB_RECURSE host_files RELATIVE "${mdqr_kernels}" "${mdqr_kernels}/host/*.hpp" "${mdqr_kernels}/host/*.cpp")
mdqr_digest(MDQR_INCLUDE_DIGEST ${include_files})
mdqr_digest(MDQR_HOST_DIGEST ${host_files} CMakeLists.txt digest.cmake)

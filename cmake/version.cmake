# Writes generated/version.h (cmake/version.h.in), which src/app includes. It is looked at in every
# build and rewritten only when the revision differs, so a commit recompiles only the files that include it.
#
# Runs twice: included by CMakeLists.txt, it makes the target; as a script, it writes the header.

if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(
    COMMAND git describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${CAIRN_SOURCE_DIR}
    OUTPUT_VARIABLE CAIRN_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(CAIRN_REVISION unknown)
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${CAIRN_VERSION_HEADER} @ONLY)
  return()
endif()

set(header ${CMAKE_BINARY_DIR}/version/generated/version.h)
set(write_header
    ${CMAKE_COMMAND} -DCAIRN_SOURCE_DIR=${CMAKE_SOURCE_DIR} -DPROJECT_VERSION=${PROJECT_VERSION}
    -DCAIRN_VERSION_HEADER=${header} -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake)
execute_process(COMMAND ${write_header} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(cairn_write_version COMMAND ${write_header} BYPRODUCTS ${header} VERBATIM
                  COMMENT "Looking at the revision")

# Link this to include <generated/version.h>.
add_library(cairn_version INTERFACE)
target_include_directories(cairn_version INTERFACE ${CMAKE_BINARY_DIR}/version)
add_dependencies(cairn_version cairn_write_version)

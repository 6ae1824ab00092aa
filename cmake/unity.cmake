# Several sources compiled as one, in the builds that CI compiles from nothing: what their files
# share, headers and instantiated templates, is most of the work. Release is compiled file by file,
# as is what unity.py leaves alone.

option(CAIRN_UNITY "Compile several sources as one" ON)
set(grouped_build_types "^(Asan|Tsan|Debug)$")

# Sets `out` to what `target` compiles for these sources: files that include several of them, and the
# rest. Sources with options of their own stay alone.
function(cairn_group_sources target out)
  if(NOT CAIRN_UNITY OR NOT CMAKE_BUILD_TYPE MATCHES ${grouped_build_types})
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(together ${ARGN})
  set(alone ${ARGN})
  list(FILTER together EXCLUDE REGEX "${sources_compiled_alone}")
  list(FILTER alone INCLUDE REGEX "${sources_compiled_alone}")
  list(JOIN together "\n" list)
  set(listed ${CMAKE_BINARY_DIR}/unity/${target}.txt)
  file(WRITE ${listed} "${list}\n")
  execute_process(
    COMMAND ${CAIRN_PYTHON} ${CMAKE_SOURCE_DIR}/cmake/unity.py ${CMAKE_BINARY_DIR}/unity ${target}
            ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}
    INPUT_FILE ${listed} OUTPUT_VARIABLE grouped OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" grouped "${grouped}")
  set(${out} ${grouped} ${alone} PARENT_SCOPE)
endfunction()

# Third-party bodies, which are compiled without our warnings.
set(sources_compiled_alone "/net/boost_impl\\.cc$")

if(CAIRN_UNITY AND CMAKE_BUILD_TYPE MATCHES ${grouped_build_types})
  find_program(CAIRN_PYTHON python3 REQUIRED)
  # A source that is included looks like a header, which must not have such members.
  target_compile_options(cairn_options INTERFACE -Wno-subobject-linkage)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/unity.py)
endif()

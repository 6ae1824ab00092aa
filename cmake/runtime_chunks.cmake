# The JavaScript of functions, src/functions/engine/js, as a source of its library: the files that
# manifest.txt names, as text, and the manifest's rows, as the tables of runtime_chunks.h. Made again
# when one of them changes.

set(runtime_js ${CMAKE_SOURCE_DIR}/src/functions/engine/js)
file(GLOB runtime_files CONFIGURE_DEPENDS ${runtime_js}/*.js)
set(runtime_chunks ${CMAKE_BINARY_DIR}/generated/runtime_chunks.cc)
add_custom_command(
  OUTPUT ${runtime_chunks}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${runtime_js} -D OUTPUT=${runtime_chunks}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_runtime.cmake
  DEPENDS ${runtime_files} ${runtime_js}/manifest.txt ${CMAKE_SOURCE_DIR}/cmake/embed_runtime.cmake
  COMMENT "Embedding the JavaScript of functions"
  VERBATIM)
target_sources(cairn_functions_engine PRIVATE ${runtime_chunks})

# The same files under node: their own tests, URLs beside the standard's reference implementation, and
# streams beside node's.
if(has_tests AND NOT CMAKE_BUILD_TYPE STREQUAL Tsan)
  add_test(NAME runtime.node COMMAND node ${runtime_js}/test/run.mjs)
  add_test(NAME runtime.urls COMMAND node ${runtime_js}/test/url_differential.mjs
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/build-npm)
  add_test(NAME runtime.streams COMMAND node ${runtime_js}/test/streams_differential.mjs)
  set_tests_properties(runtime.node runtime.urls runtime.streams PROPERTIES LABELS unit TIMEOUT 180)
endif()

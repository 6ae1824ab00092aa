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

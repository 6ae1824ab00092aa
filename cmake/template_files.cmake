# What `cairn fn init` writes, src/functions/cli/assets, as a source of its library. Made again when
# one of the files changes.

set(template_folder ${CMAKE_SOURCE_DIR}/src/functions/cli/assets)
file(GLOB template_inputs CONFIGURE_DEPENDS ${template_folder}/*)
set(template_files ${CMAKE_BINARY_DIR}/generated/template_files.cc)
add_custom_command(
  OUTPUT ${template_files}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${template_folder} -D OUTPUT=${template_files}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
  DEPENDS ${template_inputs} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
  COMMENT "Embedding the template of functions"
  VERBATIM)
target_sources(cairn_functions_cli PRIVATE ${template_files})

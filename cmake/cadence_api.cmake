# The messages of Cadence's API, src/functions/cadence/cadence_api.proto, as a library of their own:
# what protoc makes is not held to our warnings. Only functions/cadence sees them.

find_program(CAIRN_PROTOC protoc REQUIRED)
find_path(CAIRN_INCLUDE_protobuf google/protobuf/message_lite.h REQUIRED)
cairn_static_library(protobuf-lite)
target_link_libraries(third_protobuf-lite INTERFACE Threads::Threads)

set(cadence_folder ${CMAKE_SOURCE_DIR}/src/functions/cadence)
set(cadence_output ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${cadence_output})
add_custom_command(
  OUTPUT ${cadence_output}/cadence_api.pb.cc ${cadence_output}/cadence_api.pb.h
  COMMAND ${CAIRN_PROTOC} --proto_path=${cadence_folder} --cpp_out=lite:${cadence_output}
          ${cadence_folder}/cadence_api.proto
  DEPENDS ${cadence_folder}/cadence_api.proto
  COMMENT "Generating the messages of Cadence's API"
  VERBATIM)
add_library(third_cadence_api STATIC ${cadence_output}/cadence_api.pb.cc
                                     ${cadence_output}/cadence_api.pb.h)
target_compile_options(third_cadence_api PRIVATE -w)
target_include_directories(third_cadence_api SYSTEM PUBLIC ${cadence_output})
target_link_libraries(third_cadence_api PUBLIC third_protobuf-lite)

# Fuzzers. Each x_fuzz.cc is a libFuzzer program of its own, built by clang out of the fewest
# sources: those whose headers it reaches. scripts/fuzz.sh runs them.

# All sources behind the headers that `file` includes, directly or not: for "net/resp/codec.h" that
# is src/net/resp/codec.cc where it exists.
function(cairn_reached_sources file out)
  set(queue ${file})
  set(seen "")
  set(sources "")
  while(queue)
    list(POP_FRONT queue current)
    if(current IN_LIST seen OR NOT EXISTS ${current})
      continue()
    endif()
    list(APPEND seen ${current})
    if(current MATCHES "\\.cc$")
      list(APPEND sources ${current})
    endif()
    file(STRINGS ${current} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\\.h\".*" "${CMAKE_SOURCE_DIR}/src/\\1" stem
             "${line}")
      list(APPEND queue ${stem}.h ${stem}.cc)
    endforeach()
  endwhile()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${seen})
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(cairn_add_fuzzer folder file)
  cmake_path(GET file STEM name)
  if(CMAKE_BUILD_TYPE STREQUAL Lint)
    add_library(${name} OBJECT ${file})
    cairn_compile_as(${name} ${folder})
    target_link_libraries(${name} PRIVATE cairn_${folder})
    return()
  endif()

  cairn_reached_sources(${file} sources)
  add_executable(${name} ${sources})
  cairn_compile_as(${name} ${folder})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  foreach(layer IN LISTS CAIRN_LAYERS)
    if(sources MATCHES "/src/${layer}/")
      target_link_libraries(${name} PRIVATE ${CAIRN_LINKS_${layer}})
    endif()
  endforeach()

  add_test(NAME fuzz.${name}
           COMMAND ${CMAKE_SOURCE_DIR}/scripts/fuzz.sh ${CMAKE_BINARY_DIR} ${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

# Reads layers.txt and gives each folder an include root that holds only what it may include.

set(CAIRN_LAYERS_FILE ${CMAKE_CURRENT_LIST_DIR}/layers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CAIRN_LAYERS_FILE})

# Sets CAIRN_LAYERS (all folders, lowest first) and CAIRN_MAY_INCLUDE_<folder>.
file(STRINGS ${CAIRN_LAYERS_FILE} rows REGEX "^layer ")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "[ \t]+" ";" words "${row}")
  list(POP_FRONT words keyword folder)
  foreach(below IN LISTS words)
    if(NOT below IN_LIST CAIRN_LAYERS)
      message(FATAL_ERROR "layers.txt: ${folder} names ${below}, which is not a row above it")
    endif()
  endforeach()
  list(APPEND CAIRN_LAYERS ${folder})
  set(CAIRN_MAY_INCLUDE_${folder} ${words})
endforeach()

# Makes the include root of `folder`: a directory of links to the folders it may include, and no
# others. This is what makes a forbidden include fail to compile.
function(cairn_make_include_root folder root)
  set(visible ${CAIRN_MAY_INCLUDE_${folder}} ${folder})
  file(MAKE_DIRECTORY ${root})
  file(GLOB links RELATIVE ${root} ${root}/*)
  foreach(link IN LISTS links)
    if(NOT link IN_LIST visible)
      file(REMOVE ${root}/${link})
    endif()
  endforeach()
  foreach(name IN LISTS visible)
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${name})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
    endif()
  endforeach()
endfunction()

# Compiles the sources of `target` as `folder` is compiled: with our options, seeing only what the
# folder may include, starting from its precompiled header.
function(cairn_compile_as target folder)
  set(root ${CMAKE_BINARY_DIR}/include/${folder})
  cairn_make_include_root(${folder} ${root})
  target_include_directories(${target} PRIVATE ${root})
  target_link_libraries(${target} PRIVATE cairn_options)
  # Checks, logs and debuggers name a file as it stands in the tree. Where ccache has made paths
  # relative to the build directory, the second of each pair applies.
  target_compile_options(${target} PRIVATE
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=../=
    -ffile-prefix-map=${root}/=src/ -ffile-prefix-map=include/${folder}/=src/)
  cairn_precompile(${target} ${folder})
endfunction()

# Links `target` to the libraries of the folders that the row of `folder` names.
function(cairn_link_below target folder scope)
  foreach(below IN LISTS CAIRN_MAY_INCLUDE_${folder})
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${below})
      target_link_libraries(${target} ${scope} cairn_${below})
    endif()
  endforeach()
endfunction()

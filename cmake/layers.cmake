# Reads layers.txt and gives each folder an include root that holds only what it may include. A
# folder is named from src on: `doors`, or `doors/turn` for a part of it that has a row of its own.

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

# <generated/layers.h> includes the layer.h of every folder that has one, for src/app/layers.cc: what
# a new layer adds there is the one line that makes it.
file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*/layer.h)
list(REMOVE_ITEM headers house/layer.h)  # the interface
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"  // IWYU pragma: export")
list(JOIN headers "\n" includes)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/version/generated/layers.h
     CONTENT "#pragma once\n\n${includes}\n" @ONLY)

# The library of a folder: cairn_doors_turn.
function(cairn_library_of folder out)
  string(REPLACE "/" "_" name "cairn_${folder}")
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# The folder of src that `folder` is, or is a part of.
function(cairn_top_of folder out)
  string(REGEX REPLACE "/.*" "" top "${folder}")
  set(${out} ${top} PARENT_SCOPE)
endfunction()

# Leaves out those of `files` that belong to a row below `folder`.
function(cairn_remove_parts folder files)
  set(own ${${files}})
  foreach(row IN LISTS CAIRN_LAYERS)
    if(row MATCHES "^${folder}/")
      list(FILTER own EXCLUDE REGEX "/src/${row}/")
    endif()
  endforeach()
  set(${files} ${own} PARENT_SCOPE)
endfunction()

# Makes the include root of `folder`: a directory of links to the folders it may include, and no
# others. This is what makes a forbidden include fail to compile.
function(cairn_make_include_root folder root)
  file(GLOB entries ${root}/*)
  foreach(entry IN LISTS entries)
    if(NOT IS_SYMLINK ${entry})
      file(GLOB links ${entry}/*)  # of the parts of one folder
      file(REMOVE ${links})
    endif()
    file(REMOVE ${entry})
  endforeach()
  foreach(name IN LISTS CAIRN_MAY_INCLUDE_${folder} ITEMS ${folder})
    cairn_top_of(${name} top)
    if(NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${name} OR IS_SYMLINK ${root}/${top})
      continue()
    endif()
    if(name STREQUAL top)
      file(REMOVE_RECURSE ${root}/${name})  # holds links to its parts
    endif()
    cmake_path(GET name PARENT_PATH parent)
    file(MAKE_DIRECTORY ${root}/${parent})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  endforeach()
endfunction()

# Compiles the sources of `target` as `folder` is compiled: with our options, seeing only what the
# folder may include, starting from its precompiled header.
function(cairn_compile_as target folder)
  string(REPLACE "/" "_" name ${folder})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  cairn_make_include_root(${folder} ${root})
  target_include_directories(${target} PRIVATE ${root})
  target_link_libraries(${target} PRIVATE cairn_options)
  # Checks, logs and debuggers name a file as it stands in the tree. Where ccache has made paths
  # relative to the build directory, the second of each pair applies.
  target_compile_options(${target} PRIVATE
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=../=
    -ffile-prefix-map=${root}/=src/ -ffile-prefix-map=include/${name}/=src/)
  cairn_precompile(${target} ${folder})
endfunction()

# Links `target` to the libraries of the folders that the row of `folder` names.
function(cairn_link_below target folder scope)
  foreach(below IN LISTS CAIRN_MAY_INCLUDE_${folder})
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${below})
      cairn_library_of(${below} library)
      target_link_libraries(${target} ${scope} ${library})
    endif()
  endforeach()
endfunction()

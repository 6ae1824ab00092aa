# Writes OUTPUT, a C++ source, from FOLDER/manifest.txt and the files it names. Run by
# runtime_chunks.cmake. A row that makes no sense, or a file that no row names, ends the build.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${FOLDER}/manifest.txt lines)
set(names "")
set(polyfills "")
set(files "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "#.*" "" line "${line}")
  string(STRIP "${line}" line)
  if(line STREQUAL "")
    continue()
  endif()
  string(REGEX REPLACE "[ \t]+" ";" words "${line}")
  list(POP_FRONT words kind)
  list(LENGTH words count)
  if(kind MATCHES "^(global|internal)$" AND count GREATER 1 AND count LESS 4)
    list(GET words 0 name)
    list(GET words 1 file)
    set(member "")
    if(count EQUAL 3)
      list(GET words 2 member)
    endif()
    set(internal false)
    if(kind STREQUAL "internal")
      set(internal true)
    endif()
    string(APPEND names "    {.name = \"${name}\", .file = \"${file}\", .member = \"${member}\", "
                        ".internal = ${internal}},\n")
  elseif(kind STREQUAL "polyfill" AND count GREATER 1)
    list(POP_FRONT words file)
    foreach(text IN LISTS words)
      string(APPEND polyfills "    {.text = \"${text}\", .file = \"${file}\"},\n")
    endforeach()
  else()
    message(FATAL_ERROR "${FOLDER}/manifest.txt: \"${line}\" is no row; the top of the file says what is")
  endif()
  list(APPEND files ${file})
endforeach()
list(REMOVE_DUPLICATES files)

file(GLOB present RELATIVE ${FOLDER} ${FOLDER}/*.js)
foreach(file IN LISTS present)
  if(NOT file IN_LIST files)
    message(FATAL_ERROR "${FOLDER}/${file}: manifest.txt does not name it")
  endif()
endforeach()

set(chunks "")
foreach(file IN LISTS files)
  if(NOT EXISTS ${FOLDER}/${file})
    message(FATAL_ERROR "${FOLDER}/manifest.txt: there is no ${file}")
  endif()
  file(READ ${FOLDER}/${file} text)
  string(APPEND chunks "    {.file = \"${file}\", .text = R\"cairn_js(${text})cairn_js\"},\n")
endforeach()

file(WRITE ${OUTPUT}.new "// Made by cmake/embed_runtime.cmake from src/functions/engine/js.
#include \"functions/engine/runtime_chunks.h\"

namespace cairn::functions {
namespace {

constexpr RuntimeChunk kChunks[] = {
${chunks}};

constexpr RuntimeName kNames[] = {
${names}};

constexpr RuntimePolyfill kPolyfills[] = {
${polyfills}};

}  // namespace

RuntimeScripts EmbeddedRuntime() {
  return {.chunks = kChunks, .names = kNames, .polyfills = kPolyfills};
}

}  // namespace cairn::functions
")
file(RENAME ${OUTPUT}.new ${OUTPUT})

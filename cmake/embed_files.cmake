# Writes OUTPUT, a C++ source with the files of FOLDER as text, for functions/cli/template_files.h. Run
# by template_files.cmake.
cmake_minimum_required(VERSION 3.25)

file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT names)
set(rows "")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} text)
  string(APPEND rows "    {.name = \"${name}\", .text = R\"cairn_file(${text})cairn_file\"},\n")
endforeach()

file(WRITE ${OUTPUT}.new "// Made by cmake/embed_files.cmake from src/functions/cli/assets.
#include \"functions/cli/template_files.h\"

namespace cairn::functions::cli {
namespace {

constexpr TemplateFile kFiles[] = {
${rows}};

}  // namespace

std::span<const TemplateFile> TemplateFiles() { return kFiles; }

}  // namespace cairn::functions::cli
")
file(RENAME ${OUTPUT}.new ${OUTPUT})

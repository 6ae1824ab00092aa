#pragma once

#include <span>
#include <string_view>

namespace cairn::functions::cli {

// What `cairn fn init` writes: the files of assets, embedded by the build
// (cmake/embed_files.cmake).
struct TemplateFile {
  std::string_view name;
  std::string_view text;
};
std::span<const TemplateFile> TemplateFiles();

}  // namespace cairn::functions::cli

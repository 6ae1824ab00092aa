#include "functions/cli/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "functions/cli/bundler.h"
#include "functions/model/errors.h"

namespace cairn::functions::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackageFile = "package.json";
constexpr std::string_view kModules = "node_modules";

bool IsTypeScript(std::string_view path) {
  return path.ends_with(".ts") && !path.ends_with(".d.ts");
}

// Files of a project that are about it, and no part of the code.
bool IsProjectFile(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == kPackageFile || name == "package-lock.json" || name == "jsconfig.json" ||
         (name.starts_with("tsconfig") && name.ends_with(".json"));
}

bool IsCode(std::string_view path) {
  if (IsProjectFile(path)) return false;
  return path.ends_with(".js") || path.ends_with(".mjs") || path.ends_with(".json") ||
         path.ends_with(".map");
}

// Calls `take` with the path in the folder and the entry of each file, until it returns false.
template <typename Take>
std::error_code Walk(const std::string& folder, const Take& take) {
  std::error_code failure;
  fs::recursive_directory_iterator at(folder, failure);
  while (!failure && at != fs::recursive_directory_iterator()) {
    const std::string name = at->path().filename().string();
    const bool skipped = name.starts_with('.') || name == kModules;
    std::error_code ignored;
    if (skipped) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored) &&
               !take(at->path().lexically_relative(folder).generic_string(), *at)) {
      break;
    }
    at.increment(failure);
  }
  return failure;
}

Result<std::vector<std::string>> ListFiles(const std::string& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("there is no folder {}; make one with: cairn fn init {}", folder, folder)};
  }
  std::vector<std::string> files;
  failure = Walk(folder, [&](std::string path, const fs::directory_entry&) {
    files.push_back(std::move(path));
    return files.size() <= kMaxFolderFiles;
  });
  if (failure) {
    return Error{ErrorCode::kIo, fmt::format("cannot read {}: {}", folder, failure.message())};
  }
  if (files.size() > kMaxFolderFiles) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("{} has more than {} files; give a function a folder of its own",
                             folder, kMaxFolderFiles)};
  }
  std::ranges::sort(files);
  return files;
}

Result<bool> HasDependencies(const std::string& folder) {
  const std::string file = fmt::format("{}/{}", folder, kPackageFile);
  std::error_code failure;
  if (!fs::exists(file, failure)) return fs::is_directory(folder + "/node_modules", failure);
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxManifestBytes));
  boost::system::error_code error;
  const boost::json::value package = boost::json::parse(text, error);
  if (error || !package.is_object()) {
    return Error{ErrorCode::kInvalid, fmt::format("{} is not a JSON object", file)};
  }
  const boost::json::value* const needed = package.get_object().if_contains("dependencies");
  return needed != nullptr && needed->is_object() && !needed->get_object().empty();
}

std::string WithExtension(std::string_view path, std::string_view extension) {
  return fmt::format("{}{}", path.substr(0, path.rfind('.')), extension);
}

// What a folder is about to be packed from.
struct Sources {
  std::string folder;
  std::vector<std::string> files;
  Manifest manifest;
  std::string manifest_text;
  std::string entry;  // as it was written: function.js or function.ts
  bool type_script = false;
  bool dependencies = false;

  bool Has(std::string_view path) const { return std::ranges::binary_search(files, path); }
};

Result<Sources> LookInto(const std::string& folder) {
  Sources sources{.folder = folder};
  CAIRN_ASSIGN_OR_RETURN(sources.files, ListFiles(folder));
  if (!sources.Has(kManifestFile)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} has no manifest.json, which says what the code may do; `cairn fn "
                             "init DIR` makes one",
                             folder)};
  }
  CAIRN_ASSIGN_OR_RETURN(sources.manifest_text,
                         ReadFile(fmt::format("{}/{}", folder, kManifestFile), kMaxManifestBytes));
  const Result<Manifest> manifest = ParseManifest(sources.manifest_text);
  if (!manifest.ok()) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{}/{}: {}", folder, kManifestFile, RefusalText(manifest.error()))};
  }
  sources.manifest = *manifest;
  const std::string typed = WithExtension(manifest->entry, ".ts");
  if (sources.Has(manifest->entry) && sources.Has(typed)) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} has both {} and {}; remove the one that is not the function",
                             folder, manifest->entry, typed)};
  }
  if (!sources.Has(manifest->entry) && !sources.Has(typed)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} has neither {} (the manifest's entry) nor {}", folder,
                             manifest->entry, typed)};
  }
  sources.entry = sources.Has(typed) ? typed : manifest->entry;
  sources.type_script = std::ranges::any_of(sources.files, IsTypeScript);
  CAIRN_ASSIGN_OR_RETURN(sources.dependencies, HasDependencies(folder));
  return sources;
}

// Whether there is room for one more file.
Result<void> Add(std::string path, std::string text, Files& files, size_t& bytes) {
  bytes += text.size();
  if (bytes > kMaxBundleBytes || files.size() >= kMaxBundleFiles) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("the folder's code is more than {} MiB or {} files; publish less, or "
                             "bundle it with esbuild",
                             kMaxBundleBytes >> 20U, kMaxBundleFiles)};
  }
  files[std::move(path)] = std::move(text);
  return {};
}

Result<Files> TakeAsTheyAre(const Sources& sources) {
  Files files;
  size_t bytes = 0;
  for (const std::string& path : sources.files) {
    if (!IsCode(path) || path == kManifestFile) continue;
    CAIRN_ASSIGN_OR_RETURN(std::string text,
                           ReadFile(fmt::format("{}/{}", sources.folder, path), kMaxBundleBytes));
    CAIRN_RETURN_IF_ERROR(Add(path, std::move(text), files, bytes));
  }
  return files;
}

Result<Files> Strip(const Sources& sources, const std::string& node, const PackOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(Files files, TakeAsTheyAre(sources));
  std::vector<std::string> typed;
  std::ranges::copy_if(sources.files, std::back_inserter(typed), IsTypeScript);
  CAIRN_ASSIGN_OR_RETURN(Files stripped, StripTypes(node, sources.folder, typed, options));
  size_t bytes = 0;
  for (const auto& [path, text] : files) bytes += text.size();
  for (auto& [path, text] : stripped) {
    CAIRN_RETURN_IF_ERROR(Add(path, std::move(text), files, bytes));
  }
  return files;
}

constexpr std::string_view kInstallEsbuild =
    "install esbuild in the folder (npm install --save-dev esbuild) or on the PATH";

// The files without the manifest, and how they came to be.
Result<std::pair<Files, std::string>> MakeFiles(const Sources& sources,
                                                const PackOptions& options) {
  const bool wanted =
      options.bundling == Bundling::kAlways ||
      (options.bundling == Bundling::kAuto && (sources.type_script || sources.dependencies));
  if (!wanted && sources.entry == sources.manifest.entry) {
    CAIRN_ASSIGN_OR_RETURN(Files files, TakeAsTheyAre(sources));
    return std::pair(std::move(files), std::string());
  }
  const std::optional<std::string> esbuild = FindEsbuild(sources.folder, options.environment);
  if (wanted && esbuild) {
    CAIRN_ASSIGN_OR_RETURN(Files files, BundleEntry(*esbuild,
                                                    {.folder = sources.folder,
                                                     .entry = sources.entry,
                                                     .output = sources.manifest.entry},
                                                    options));
    return std::pair(std::move(files), std::string("bundled by esbuild"));
  }
  if (wanted && (sources.dependencies || options.bundling == Bundling::kAlways)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} has to be bundled, and there is no esbuild: {}", sources.folder,
                             kInstallEsbuild)};
  }
  const std::optional<std::string> node = FindNode(options);
  if (!node) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} is TypeScript, and nothing here can strip its types: {}, or Node "
                             "22.13 or later",
                             sources.entry, kInstallEsbuild)};
  }
  CAIRN_ASSIGN_OR_RETURN(Files files, Strip(sources, *node, options));
  return std::pair(std::move(files), std::string("types stripped by node"));
}

}  // namespace

Result<std::string> ReadFile(const std::string& file, size_t most) {
  std::ifstream input(file, std::ios::binary);
  std::string text(most + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(input.gcount()));
  if (!input.is_open() || input.bad()) {
    return Error{ErrorCode::kNotFound, fmt::format("cannot read {}", file)};
  }
  if (text.size() > most) {
    return Error{ErrorCode::kTooLarge, fmt::format("{} is larger than {} bytes", file, most)};
  }
  return text;
}

Result<Packed> PackFolder(const std::string& folder, const PackOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const Sources sources, LookInto(folder));
  CAIRN_ASSIGN_OR_RETURN(auto made, MakeFiles(sources, options));
  Packed packed{
      .files = std::move(made.first), .manifest = sources.manifest, .how = std::move(made.second)};
  packed.files[std::string(kManifestFile)] = sources.manifest_text;
  // Every bundle has one, whatever its entry is.
  if (!packed.files.contains(kFunctionFile)) {
    packed.files[std::string(kFunctionFile)] =
        fmt::format("export {{ default }} from './{}';\n", packed.manifest.entry);
  }
  const Result<Bytes> tar = WriteBundle(packed.files);
  if (!tar.ok()) return Error{ErrorCode::kInvalid, std::string(RefusalText(tar.error()))};
  return packed;
}

FolderLook LookAt(const std::string& folder) {
  FolderLook look;
  const std::error_code failure =
      Walk(folder, [&](std::string path, const fs::directory_entry& entry) {
        std::error_code ignored;
        const int64_t time = entry.last_write_time(ignored).time_since_epoch().count();
        look[std::move(path)] = {time, entry.file_size(ignored)};
        return look.size() <= kMaxFolderFiles;
      });
  if (failure) look[failure.message()] = {};  // so that it differs from the folder as it was
  return look;
}

}  // namespace cairn::functions::cli

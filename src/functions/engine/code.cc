#include "functions/engine/code.h"

#include <fmt/format.h>
#include <js/BuildId.h>
#include <js/CompileOptions.h>
#include <js/SourceText.h>
#include <js/Transcoding.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "functions/engine/engine.h"
#include "functions/engine/exception.h"
#include "functions/engine/text.h"
#include "functions/protocol/code_header.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr size_t kDigestBytes = 32;

bool IsJson(std::string_view path) { return path.ends_with(".json"); }
bool IsModule(std::string_view path) {
  return path.ends_with(".js") || path.ends_with(".mjs") || IsJson(path);
}

// Whatever runs the parser: errors name `path`.
RefPtr<JS::Stencil> ParseModule(JSContext* cx, const std::string& path, std::string_view text) {
  JS::CompileOptions options(cx);
  options.setFileAndLine(path.c_str(), 1);
  options.setForceFullParse();
  JS::SourceText<mozilla::Utf8Unit> source;
  if (!source.init(cx, text.data(), text.size(), JS::SourceOwnership::Borrowed)) return nullptr;
  return JS::CompileModuleScriptToStencil(cx, options, source);
}

// A JSON file is a module whose default export is its value.
Result<std::string> JsonModule(JSContext* cx, const SourceFile& file) {
  JS::RootedValue ignored(cx);
  if (!ParseJson(cx, file.text, &ignored)) {
    return Error{ErrorCode::kInvalid, fmt::format("{}: {}", file.path, TakeSyntaxError(cx))};
  }
  return "export default JSON.parse(" + JsonString(file.text) + ");";
}

Result<RefPtr<JS::Stencil>> ParseFile(JSContext* cx, const SourceFile& file) {
  if (!IsUtf8(file.text)) {
    return Error{ErrorCode::kInvalid, fmt::format("{}: the file is not UTF-8 text", file.path)};
  }
  std::string_view text = file.text;
  std::string json;
  if (IsJson(file.path)) {
    CAIRN_ASSIGN_OR_RETURN(json, JsonModule(cx, file));
    text = json;
  }
  RefPtr<JS::Stencil> parsed = ParseModule(cx, file.path, text);
  if (!parsed) return Error{ErrorCode::kInvalid, TakeSyntaxError(cx)};
  return parsed;
}

// Names the files: what was parsed from other text does not fit.
std::string DigestOf(const std::vector<SourceFile>& files) {
  std::string all;
  for (const SourceFile& file : files) {
    AppendBig32(all, static_cast<uint32_t>(file.path.size()));
    all += file.path;
    AppendBig32(all, static_cast<uint32_t>(file.text.size()));
    all += file.text;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  EVP_Digest(all.data(), all.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

void AppendText(std::string& out, std::string_view text) {
  AppendBig32(out, static_cast<uint32_t>(text.size()));
  out += text;
}

RefPtr<JS::Stencil> DecodeStencil(JSContext* cx, std::string_view bytes) {
  // The decoder wants its input aligned.
  const auto aligned = std::make_unique<uint64_t[]>(bytes.size() / sizeof(uint64_t) + 1);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  const JS::TranscodeRange range(reinterpret_cast<const uint8_t*>(aligned.get()), bytes.size());
  const JS::DecodeOptions options;
  JS::Stencil* decoded = nullptr;
  if (JS::DecodeStencil(cx, options, range, &decoded) != JS::TranscodeResult::Ok) {
    JS_ClearPendingException(cx);
    return nullptr;
  }
  return already_AddRefed<JS::Stencil>(decoded);
}

}  // namespace

std::string_view EngineBuildId() { return kEngineBuildId; }

Result<Code> ParseBundle(JSContext* cx, const std::vector<SourceFile>& files) {
  Code code;
  for (const SourceFile& file : files) {
    if (!IsModule(file.path)) continue;
    CAIRN_ASSIGN_OR_RETURN(RefPtr<JS::Stencil> parsed, ParseFile(cx, file));
    code[file.path] = std::move(parsed);
  }
  return code;
}

RefPtr<JS::Stencil> ParseScript(JSContext* cx, std::string_view name, std::string_view text) {
  const std::string file(name);
  JS::CompileOptions options(cx);
  options.setFileAndLine(file.c_str(), 1);
  options.setForceFullParse();
  JS::SourceText<mozilla::Utf8Unit> source;
  if (!source.init(cx, text.data(), text.size(), JS::SourceOwnership::Borrowed)) return nullptr;
  return JS::CompileGlobalScriptToStencil(cx, options, source);
}

std::string EncodeCode(JSContext* cx, const Code& code, const std::vector<SourceFile>& files) {
  std::string out;
  AppendText(out, kCodeMagic);
  AppendText(out, EngineBuildId());
  out += DigestOf(files);
  AppendBig32(out, static_cast<uint32_t>(code.size()));
  for (const auto& [path, stencil] : code) {
    JS::TranscodeBuffer buffer;
    if (JS::EncodeStencil(cx, stencil, buffer) != JS::TranscodeResult::Ok) {
      JS_ClearPendingException(cx);
      return "";
    }
    AppendText(out, path);
    AppendText(out, {reinterpret_cast<const char*>(buffer.begin()), buffer.length()});
    if (out.size() > wire::kMaxCompiledBytes / 2)
      return "";  // loading it would not be cheap either
  }
  return out;
}

std::optional<Code> DecodeCode(JSContext* cx, std::string_view bytes,
                               const std::vector<SourceFile>& files) {
  BytesReader in(bytes);
  if (in.Take(in.Big32()) != kCodeMagic || in.Take(in.Big32()) != EngineBuildId() ||
      in.Take(kDigestBytes) != DigestOf(files)) {
    return std::nullopt;
  }
  Code code;
  const uint32_t count = in.Big32();
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::string path(in.Take(in.Big32()));
    const std::string_view encoded = in.Take(in.Big32());
    if (!in.ok()) return std::nullopt;
    RefPtr<JS::Stencil> stencil = DecodeStencil(cx, encoded);
    if (!stencil) return std::nullopt;
    code[path] = std::move(stencil);
  }
  if (!in.AtEnd()) return std::nullopt;
  return code;
}

std::optional<std::string> ResolveImport(std::string_view importer, std::string_view specifier) {
  if (!specifier.starts_with("./") && !specifier.starts_with("../")) return std::nullopt;
  const size_t slash = importer.rfind('/');
  std::vector<std::string_view> parts;
  const auto walk = [&parts](std::string_view path) {
    while (!path.empty()) {
      const size_t end = std::min(path.find('/'), path.size());
      const std::string_view part = path.substr(0, end);
      path.remove_prefix(std::min(end + 1, path.size()));
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (parts.empty()) {
        return false;
      } else {
        parts.pop_back();
      }
    }
    return true;
  };
  if (slash != std::string_view::npos) walk(importer.substr(0, slash));
  if (!walk(specifier)) return std::nullopt;
  return fmt::format("{}", fmt::join(parts, "/"));
}

}  // namespace cairn::functions

#include "data/script/function_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "data/script/script_run.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr BytesView kVersionKey = "fn\x01";
constexpr BytesView kLibraryPrefix = "fn\x02";
constexpr std::string_view kNameOption = "name=";

Error Invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

bool IsLibraryName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, allowed);
}

// While a library is loaded it can do nothing but register functions, and not for long.
class LoadHost final : public ScriptHost {
 public:
  explicit LoadHost(const cairn::Log& log) : log_(log) {}

  bool Call(std::span<const std::string_view> /*args*/, int protocol, std::string& reply) override {
    net::RespWriter(reply, protocol)
        .Error("ERR commands cannot be called while a library is loaded");
    return true;
  }
  bool Step() override { return ++steps_ <= kMaxLibraryLoadSteps; }
  std::optional<bool> MayCall(std::span<const std::string_view> /*args*/) override {
    return std::nullopt;
  }
  void Log(int level, std::string_view text) override { LogFromScript(log_, level, text); }

 private:
  const cairn::Log& log_;
  int steps_ = 0;
};

Result<Library> LoadInto(LuaState& lua, std::string_view source, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(const LibraryHeader header, ParseLibraryHeader(source));
  LoadHost host(log);
  CAIRN_ASSIGN_OR_RETURN(std::vector<ScriptFunction> functions,
                         lua.LoadLibrary(source.substr(header.body_at), host));
  if (functions.empty()) return Invalid("ERR No functions registered");
  return Library{std::string(header.name), std::string(source), std::move(functions)};
}

void Changed(store::Transaction& transaction) {
  Bytes stamp;
  AppendBig64(stamp, transaction.NewStamp());
  transaction.Put({store::Space::kSystem, kVersionKey}, stamp);
}

store::Range AllLibraries() { return store::Range::Prefix(store::Space::kSystem, kLibraryPrefix); }

}  // namespace

namespace {

// The next word of a library's first line, parts of which may stand in quotes; nullopt if a quote
// is not closed.
std::optional<std::string> TakeWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \r"), line.size()));
  std::string word;
  char quote = 0;
  while (!line.empty()) {
    const char c = line.front();
    if (quote == 0 && (c == ' ' || c == '\r')) break;
    line.remove_prefix(1);
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      word += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return word;
}

}  // namespace

Result<LibraryHeader> ParseLibraryHeader(std::string_view source) {
  const size_t end = source.find('\n');
  if (!source.starts_with("#!") || end == std::string_view::npos) {
    return Invalid(source.starts_with("#!") ? "ERR Invalid library metadata"
                                            : "ERR Missing library metadata");
  }
  std::string_view line = source.substr(2, end - 2);
  LibraryHeader header{.name = {}, .body_at = end};
  // It stands right behind the first two characters, or there is none.
  const std::string_view engine = line.substr(0, line.find_first_of(" \r"));
  line.remove_prefix(engine.size());
  bool named = false;
  while (true) {
    const std::optional<std::string> word = TakeWord(line);
    if (!word) return Invalid("ERR Invalid library metadata");
    if (word->empty()) break;
    if (!doors::EqualsIgnoreCase(word->substr(0, kNameOption.size()), kNameOption)) {
      return Invalid(fmt::format("ERR Invalid metadata value given: {}", *word));
    }
    if (named) return Invalid("ERR Invalid metadata value, name argument was given multiple times");
    named = true;
    header.name = word->substr(kNameOption.size());
  }
  if (!named) return Invalid("ERR Library name was not given");
  if (!IsLibraryName(header.name)) {
    return Invalid(
        "ERR Library names can only contain letters, numbers, or underscores(_) and must be at "
        "least one character long");
  }
  if (!doors::EqualsIgnoreCase(engine, "lua")) {
    return Invalid(fmt::format("ERR Engine '{}' not found", engine));
  }
  return header;
}

Result<Library> CompileLibrary(std::string_view source, const Log& log) {
  LuaState lua;
  return LoadInto(lua, source, log);
}

Bytes EncodeLibraryKey(std::string_view name) { return Bytes(kLibraryPrefix) + Bytes(name); }

std::optional<std::string_view> DecodeLibraryKey(BytesView key) {
  if (!key.starts_with(kLibraryPrefix) || key.size() == kLibraryPrefix.size()) return std::nullopt;
  return key.substr(kLibraryPrefix.size());
}

void StoreLibrary(store::Transaction& transaction, const Library& library) {
  transaction.Put({store::Space::kSystem, EncodeLibraryKey(library.name)}, library.source);
  Changed(transaction);
}

void RemoveLibrary(store::Transaction& transaction, std::string_view name) {
  transaction.Delete({store::Space::kSystem, EncodeLibraryKey(name)});
  Changed(transaction);
}

Result<void> RemoveAllLibraries(store::Transaction& transaction) {
  // One by one: they are few, and a deleted range would keep scans off the loops for a while.
  std::vector<Bytes> keys;
  CAIRN_RETURN_IF_ERROR(transaction.Scan(AllLibraries(), {}, [&](BytesView key, BytesView) {
    keys.emplace_back(key);
    return true;
  }));
  for (const Bytes& key : keys) transaction.Delete({store::Space::kSystem, key});
  Changed(transaction);
  return {};
}

Result<void> FunctionState::Refresh(store::Transaction& transaction, const Log& log,
                                    bool may_take_long) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> stamp,
                         transaction.Get({store::Space::kSystem, kVersionKey}));
  const uint64_t version = stamp ? BytesReader(*stamp).Big64() : 0;
  if (version == version_) return {};
  if (!may_take_long) {
    return Error{ErrorCode::kWouldBlock, "libraries take too long to load for an event loop"};
  }
  std::vector<std::string> sources;
  CAIRN_RETURN_IF_ERROR(transaction.Scan(AllLibraries(), {}, [&](BytesView, BytesView value) {
    sources.emplace_back(value);
    return true;
  }));
  lua_ = std::make_unique<LuaState>();
  libraries_.clear();
  for (const std::string& source : sources) {
    Result<Library> library = LoadInto(*lua_, source, log);
    if (library.ok()) {
      libraries_.push_back(std::move(*library));
    } else {
      log.Error("a stored library of functions does not load",
                {{"error", library.error().message}});
    }
  }
  version_ = version;
  return {};
}

const Library* FunctionState::FindLibrary(std::string_view name) const {
  const auto found = std::ranges::find(libraries_, name, &Library::name);
  return found == libraries_.end() ? nullptr : &*found;
}

const ScriptFunction* FunctionState::FindFunction(std::string_view name) const {
  for (const Library& library : libraries_) {
    for (const ScriptFunction& function : library.functions) {
      if (doors::EqualsIgnoreCase(function.name, name)) return &function;
    }
  }
  return nullptr;
}

}  // namespace cairn::data

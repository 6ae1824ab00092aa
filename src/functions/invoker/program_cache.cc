#include "functions/invoker/program_cache.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "functions/control/functions.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/model/bundle.h"
#include "functions/model/digest.h"
#include "functions/model/errors.h"
#include "functions/protocol/code_header.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

size_t SizeOf(const Program& program) {
  size_t bytes = sizeof(program) + program.compiled.size();
  for (const SourceFile& file : program.files) bytes += file.path.size() + file.text.size();
  return bytes;
}

}  // namespace

std::string ProgramCache::NameOf(const Wanted& wanted) {
  return Sha256Hex(fmt::format("{}\n{}\n{}\n{}\n{}", ResourceName(wanted.function), wanted.sha256,
                               wanted.config.entry, wanted.config.handler,
                               IsolationName(wanted.config.isolation)));
}

std::shared_ptr<const Program> ProgramCache::Find(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = items_.find(name);
  if (found == items_.end()) return nullptr;
  used_.splice(used_.begin(), used_, found->second.place);
  return found->second.program;
}

void ProgramCache::Keep(const std::string& name, std::shared_ptr<const Program> program) {
  const size_t bytes = SizeOf(*program);
  const std::scoped_lock lock(mutex_);
  if (items_.contains(name)) return;
  used_.push_front(name);
  items_.emplace(name, Item{std::move(program), bytes, used_.begin()});
  bytes_ += bytes;
  while (bytes_ > limit_bytes_ && items_.size() > 1) {
    const auto oldest = items_.find(used_.back());
    bytes_ -= oldest->second.bytes;
    items_.erase(oldest);
    used_.pop_back();
  }
}

awaitable<Result<ProgramCache::Stored>> ProgramCache::ReadStored(const Wanted& wanted) {
  std::optional<std::string> tar;
  std::optional<std::string> code;
  const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(tar,
                           ReadString(transaction, BundleKey(wanted.function, wanted.version)));
    CAIRN_ASSIGN_OR_RETURN(code, LoadCode(transaction, wanted.function, wanted.sha256));
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await routes_.Read(none, read);
  if (!done.ok()) co_return done.error();
  if (!tar) {
    co_return Refuse(Code::kNotFound, fmt::format("the bundle of {} version {} is gone",
                                                  ResourceName(wanted.function), wanted.version));
  }
  if (Sha256Hex(*tar) != wanted.sha256) {
    co_return Refuse(Code::kStoreReadFailed,
                     fmt::format("the bundle of {} version {} is not what was published",
                                 ResourceName(wanted.function), wanted.version));
  }
  Stored stored{.tar = *std::move(tar)};
  if (code && code->size() <= kMaxCodeBytes && IsCodeOfThisEngine(*code)) {
    stored.code = *std::move(code);
  }
  co_return stored;
}

// A store that takes no writes now is no reason not to run the function.
awaitable<void> ProgramCache::Store(const Wanted& wanted, std::string code) {
  const CompiledCode compiled{.sha256 = wanted.sha256, .code = std::move(code)};
  store::Scopes scopes;
  AddFunctionScopes(wanted.function, scopes);
  AddScope(CodeKey(wanted.function, wanted.sha256), scopes);
  const doors::RouteStore::Task write = [&](store::Transaction& transaction) -> Result<void> {
    Context context{.transaction = transaction};
    return StoreCode(context, wanted.function, wanted.version, compiled);
  };
  (void)co_await routes_.Write(scopes, write);
}

awaitable<Result<std::shared_ptr<const Program>>> ProgramCache::Load(Wanted wanted) {
  const std::string name = NameOf(wanted);
  if (std::shared_ptr<const Program> kept = Find(name)) co_return kept;

  Result<Stored> stored = co_await ReadStored(wanted);
  if (!stored.ok()) co_return stored.error();
  const Result<Bundle> bundle = Bundle::Read(stored->tar);
  if (!bundle.ok()) co_return bundle.error();
  auto program = std::make_shared<Program>();
  program->sha256 = name;
  for (const auto& [path, text] : bundle->files()) {
    program->files.push_back({path, std::string(text)});
  }
  program->entry = wanted.config.entry;
  program->handler = wanted.config.handler;
  program->isolation = wanted.config.isolation;
  program->compiled = std::move(stored->code);
  const bool compiles = program->compiled.empty();
  if (compiles) {
    Result<std::string> compiled = co_await pool_.Compile(program->files, program->entry);
    if (!compiled.ok()) co_return compiled.error();
    program->compiled = *compiled;
    co_await Store(wanted, *std::move(compiled));
  }
  Keep(name, program);
  {
    const std::scoped_lock lock(mutex_);
    ++loads_;
    compiled_ += compiles ? 1 : 0;
  }
  co_return std::shared_ptr<const Program>(std::move(program));
}

ProgramCache::Figures ProgramCache::figures() const {
  const std::scoped_lock lock(mutex_);
  return {.items = items_.size(), .bytes = bytes_, .loads = loads_, .compiled = compiled_};
}

}  // namespace cairn::functions

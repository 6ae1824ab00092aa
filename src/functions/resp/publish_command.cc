#include "functions/resp/publish_command.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "doors/resp/arg_parser.h"
#include "functions/control/aliases.h"
#include "functions/control/requests.h"
#include "functions/control/versions.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

using doors::Args;
using doors::CommandContext;

constexpr std::string_view kSyntax = "syntax error";
// Longer than a compilation may take, with those before it in line.
constexpr int64_t kMaxWaitMs = 120'000;

// The arguments of FN.PUBLISH behind the function, as they stand there.
struct PublishArgs {
  std::string_view draft;
  Args files;
  std::string_view config;
  std::string_view alias;
};

Result<PublishArgs> ParsePublishArgs(Args args) {
  PublishArgs parsed;
  while (!args.empty()) {
    const std::string_view word = args.front();
    args = args.subspan(1);
    if (args.empty()) return SyntaxError(kSyntax);
    const std::string_view value = args.front();
    args = args.subspan(1);
    if (doors::EqualsIgnoreCase(word, "DRAFT")) {
      parsed.draft = value;
    } else if (doors::EqualsIgnoreCase(word, "CONFIG")) {
      parsed.config = value;
    } else if (doors::EqualsIgnoreCase(word, "ALIAS")) {
      parsed.alias = value;
    } else if (doors::EqualsIgnoreCase(word, "FILES")) {
      const int64_t count = doors::ParseInteger(value).value_or(0);
      if (count < 1 || static_cast<size_t>(count) > args.size() / 2) {
        return SyntaxError(
            "FILES is followed by their number, and each path by the file's content");
      }
      parsed.files = args.first(static_cast<size_t>(count) * 2);
      args = args.subspan(parsed.files.size());
    } else {
      return SyntaxError(kSyntax);
    }
  }
  if (parsed.draft.empty() == parsed.files.empty()) {
    return SyntaxError("either DRAFT or FILES says what is published");
  }
  return parsed;
}

// What one call asks for, checked and packed once.
struct Publishing {
  FunctionName function;
  PublishRequest request;
};

Result<Publishing> ParsePublish(Args args) {
  Publishing parsed;
  CAIRN_ASSIGN_OR_RETURN(parsed.function, ParseFunctionName(args[1]));
  CAIRN_ASSIGN_OR_RETURN(const PublishArgs given, ParsePublishArgs(args.subspan(2)));
  PublishRequest& request = parsed.request;
  request.draft_id = given.draft;
  request.alias = given.alias;
  CAIRN_ASSIGN_OR_RETURN(request.config, ParseOverrides(given.config));
  if (!given.files.empty()) {
    CAIRN_ASSIGN_OR_RETURN(request.package, MakePackage(TakeFiles(given.files)));
  }
  return parsed;
}

// How far the compilation of one call is. Shared with the compiler, which may outlast the call.
struct Compilation {
  std::mutex mutex;
  bool begun = false;
  std::optional<BundleCompiler::Outcome> outcome;
};

class PublishCall final : public doors::CommandRequest {
 public:
  PublishCall(Args args, CommandParts parts, BundleCompiler* compiler)
      : parts_(parts), compiler_(compiler), given_(args) {
    if (const Result<FunctionName> function = ParseFunctionName(args[1]); function.ok()) {
      function_ = *function;
    }
  }

  void AddScopes(uint8_t /*db*/, store::Scopes& scopes) const override {
    const Result<PublishArgs> parsed = ParsePublishArgs(given_.view().subspan(2));
    if (!function_ || !parsed.ok()) return;  // then it is refused
    AddDraftScopes(*function_, parsed->draft, scopes);
    if (!parsed->alias.empty()) AddAliasScopes(*function_, parsed->alias, scopes);
  }

  Result<void> Run(CommandContext& command) const override {
    Context context = ContextOf(command, parts_);
    const Result<Publishing>& parsed = Parsed();
    if (!parsed.ok()) return ReplyWith(command, parsed.error());
    if (compiler_ == nullptr || !command.caller.may_block) return PublishNow(context, command);
    const std::scoped_lock lock(compilation_->mutex);
    if (compilation_->outcome) {
      if (!compilation_->outcome->ok()) return ReplyWith(command, compilation_->outcome->error());
      return PublishCompiled(context, command, **compilation_->outcome);
    }
    if (!compilation_->begun) {
      Result<Package> package = PackageToPublish(context, parsed->function, parsed->request);
      if (!package.ok()) return ReplyWith(command, package.error());
      compilation_->begun = true;
      compiler_->Begin(std::make_shared<const Package>(*std::move(package)), topic_,
                       [compilation = compilation_](BundleCompiler::Outcome outcome) {
                         const std::scoped_lock hold(compilation->mutex);
                         compilation->outcome = std::move(outcome);
                       });
    }
    command.reply.Error(Refuse(Code::kRateLimited,
                               "the files were not compiled in time, and nothing is published; "
                               "try again")
                            .message);
    return command.Block({.timeout_ms = kMaxWaitMs, .topics = {topic_}});
  }

 private:
  // Large files are packed by who runs the call, not on the loop that has read it.
  const Result<Publishing>& Parsed() const {
    const std::scoped_lock lock(mutex_);
    if (!parsed_) parsed_ = ParsePublish(given_.view());
    return *parsed_;
  }

  Result<void> PublishCompiled(Context& context, CommandContext& command,
                               const SharedCode& code) const {
    PublishRequest request = parsed_->value().request;
    request.compiled = code;
    const Result<Published> published = Publish(context, parsed_->value().function, request);
    if (!published.ok()) return ReplyWith(command, published.error());
    return ReplyWith(command, PublishedText(*published));
  }

  Result<void> PublishNow(Context& context, CommandContext& command) const {
    const FunctionName& function = parsed_->value().function;
    const Result<Published> published = Publish(context, function, parsed_->value().request);
    if (!published.ok()) return ReplyWith(command, published.error());
    if (compiler_ != nullptr) {
      command.transaction.AfterCommit(
          [compiler = compiler_, function, version = published->version](store::Commit /*commit*/) {
            compiler->CompileLater(function, version);
          });
    }
    return ReplyWith(command, PublishedText(*published));
  }

  static store::Topic NewTopic() {
    static std::atomic<uint64_t> calls = 0;
    return store::Topic::Of(store::Space::kData, fmt::format("functions compiled {}", ++calls));
  }

  const CommandParts parts_;
  BundleCompiler* const compiler_;
  const doors::OwnedArgs given_;
  std::optional<FunctionName> function_;
  const store::Topic topic_ = NewTopic();  // of this call alone
  const std::shared_ptr<Compilation> compilation_ = std::make_shared<Compilation>();
  mutable std::mutex mutex_;
  mutable std::optional<Result<Publishing>> parsed_;
};

}  // namespace

Files TakeFiles(Args args) {
  Files files;
  for (size_t at = 0; at + 1 < args.size(); at += 2) {
    files.insert_or_assign(std::string(args[at]), Bytes(args[at + 1]));
  }
  return files;
}

void AddPublishCommand(doors::Instance& instance, CommandParts parts, BundleCompiler* compiler) {
  instance.commands().Add(
      {.name = "fn.publish",
       .arity = -4,
       .flags = doors::kWrite | doors::kBlocking,
       .parse = [parts, compiler](Args args) -> doors::SharedRequest {
         return std::make_shared<const PublishCall>(args, parts, compiler);
       },
       .long_running = true,
       .group = "functions",
       .since = "1.0.0",
       .complexity = "O(N) with N being the size of the files",
       .summary = "Publishes a draft, or files, as the next version, once they are compiled.",
       .syntax = "function [DRAFT draft] [FILES count:integer (path content) ...] "
                 "[CONFIG json] [ALIAS alias]",
       .run = [](CommandContext& command) { return command.call.request->Run(command); }});
}

}  // namespace cairn::functions

#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "doors/resp/command.h"

namespace cairn::doors {

// What a command is given that tells about the process: neither a connection nor anything stored.
// Such a command also runs in scripts.
struct AnswerContext {
  const Command& command;
  Args args;
  net::RespWriter reply;
  bool failed = false;

  void Fail(std::string_view text) {
    reply.Error(text);
    failed = true;
  }
};

// Writes exactly one reply. May be called more than once for one request, on any thread.
using AnswerHandler = std::function<void(AnswerContext&)>;

// As a row's handler; the row's scopes are ScopeRule::kNothing.
inline RunHandler Answering(AnswerHandler answer) {
  return [answer = std::move(answer)](CommandContext& context) -> Result<void> {
    AnswerContext inner{context.command, context.args, context.reply};
    answer(inner);
    context.failed = inner.failed;
    return {};
  };
}

}  // namespace cairn::doors

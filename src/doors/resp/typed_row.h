#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "doors/resp/command.h"
#include "store/scopes.h"

namespace cairn::doors {

// What a row does with a request of its own type. `T` is a plain struct that owns what it keeps of
// the arguments.
template <typename T>
struct TypedFunctions {
  // An Error's message is the reply, code and all: "ERR syntax error".
  std::function<Result<T>(Args)> parse;
  std::function<void(const T&, uint8_t db, store::Scopes&)> scopes;
  // May run more than once, as every handler, and leaves the request as it is.
  std::function<Result<void>(CommandContext&, const T&)> run;
};

template <typename T>
class TypedRequest final : public CommandRequest {
 public:
  TypedRequest(std::shared_ptr<const TypedFunctions<T>> functions, Args args)
      : functions_(std::move(functions)), parsed_(functions_->parse(args)) {}

  void AddScopes(uint8_t db, store::Scopes& scopes) const override {
    if (parsed_.ok()) functions_->scopes(*parsed_, db, scopes);
  }
  Result<void> Run(CommandContext& context) const override {
    if (!parsed_.ok()) return context.Fail(parsed_.error().message);
    return functions_->run(context, *parsed_);
  }

 private:
  const std::shared_ptr<const TypedFunctions<T>> functions_;
  const Result<T> parsed_;
};

// `row` with these functions: its arguments are parsed once per call, and the same request says
// what is locked and is run.
//
//   table.Add(TypedRow<ReserveRequest>({.name = "seat.reserve", …},
//                                      {.parse = ParseReserve, .scopes = …, .run = …}));
template <typename T>
Command TypedRow(Command row, TypedFunctions<T> functions) {
  auto shared = std::make_shared<const TypedFunctions<T>>(std::move(functions));
  row.parse = [shared = std::move(shared)](Args args) -> SharedRequest {
    return std::make_shared<const TypedRequest<T>>(shared, args);
  };
  row.run = [](CommandContext& context) { return context.call.request->Run(context); };
  return row;
}

}  // namespace cairn::doors

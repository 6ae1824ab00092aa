#include "data/list/list_moves.h"

#include <algorithm>
#include <optional>

namespace cairn::data {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

ListEnd TakeListEnd(ArgParser& parser) {
  const std::optional<ListEnd> end =
      parser.OneOf<ListEnd>({{"LEFT", ListEnd::kLeft}, {"RIGHT", ListEnd::kRight}});
  if (!end) parser.Fail(doors::kSyntaxError);
  return end.value_or(ListEnd::kLeft);
}

void SavePopped(CommandContext& context, List& list, std::string_view key, ListEnd end) {
  list.Save();
  context.Notify(doors::kEventList, end == ListEnd::kLeft ? "lpop" : "rpop", key);
  if (list.size() == 0) context.Notify(doors::kEventGeneric, "del", key);
}

Result<void> MoveElement(CommandContext& context, List& source, const ListMove& move) {
  const std::string_view pushed = move.to == ListEnd::kLeft ? "lpush" : "rpush";
  if (move.source == move.destination) {
    CAIRN_ASSIGN_OR_RETURN(const Bytes element, source.Pop(move.from));
    source.Push(move.to, element);
    context.Notify(doors::kEventList, pushed, move.destination);
    SavePopped(context, source, move.source, move.from);
    context.reply.Bulk(element);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(List destination, List::Load(context, move.destination));
  if (destination.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const Bytes element, source.Pop(move.from));
  destination.Push(move.to, element);
  destination.Save();
  context.Notify(doors::kEventList, pushed, move.destination);
  SavePopped(context, source, move.source, move.from);
  context.reply.Bulk(element);
  return {};
}

MultiPop TakeMultiPop(ArgParser& parser) {
  constexpr std::string_view kBadCount = "ERR count should be greater than 0";
  constexpr std::string_view kBadNumber = "ERR numkeys should be greater than 0";
  MultiPop pop;
  const int64_t number = parser.Integer(kBadNumber);
  if (number <= 0) parser.Fail(kBadNumber);
  if (!parser.ok()) return pop;
  const Args rest = parser.Rest();
  if (static_cast<uint64_t>(number) >= rest.size()) {
    parser.Fail(doors::kSyntaxError);
    return pop;
  }
  pop.keys = rest.first(static_cast<size_t>(number));
  parser = ArgParser(rest, pop.keys.size());
  pop.end = TakeListEnd(parser);
  if (parser.remaining() > 1 && parser.Keyword("COUNT")) {
    const int64_t count = parser.Integer(kBadCount);
    if (count <= 0) parser.Fail(kBadCount);
    pop.count = static_cast<uint64_t>(count);
  }
  parser.Finish();
  return pop;
}

Result<void> PopMany(CommandContext& context, List& list, std::string_view key, ListEnd end,
                     uint64_t count) {
  count = std::min(count, list.size());
  context.reply.ArrayHeader(2);
  context.reply.Bulk(key);
  context.reply.ArrayHeader(count);
  for (uint64_t i = 0; i < count; ++i) {
    CAIRN_ASSIGN_OR_RETURN(const Bytes element, list.Pop(end));
    context.reply.Bulk(element);
  }
  SavePopped(context, list, key, end);
  return {};
}

}  // namespace cairn::data

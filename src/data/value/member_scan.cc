#include "data/value/member_scan.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "data/value/limits.h"
#include "data/value/value_info.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/glob.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::CommandContext;

struct Options {
  std::string_view pattern = "*";
  int64_t count = 10;
};

Options ParseOptions(ArgParser& parser) {
  Options options;
  while (parser.HasNext()) {
    const bool has_value = parser.remaining() > 1;
    if (has_value && parser.Keyword("MATCH")) {
      options.pattern = parser.Next();
    } else if (has_value && parser.Keyword("COUNT")) {
      options.count = parser.Integer();
      if (options.count < 1) parser.Fail(doors::kSyntaxError);
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

// What one call has found.
struct Step {
  std::string reply;  // the members, written
  size_t members = 0;
  std::optional<Bytes> next;  // the suffix to go on at
};

// Writes the members that match.
class StepWriter {
 public:
  StepWriter(Step& step, const MemberScan& scan, const Options& options,
             const net::RespWriter& reply)
      : step_(step), scan_(scan), options_(options), writer_(reply.Beside(step.reply)) {}

  // Returns whether there is room for the next one.
  bool Add(BytesView member, BytesView value) {
    if (!doors::GlobMatch(options_.pattern, member)) return true;
    scan_.write(writer_, member, value);
    ++step_.members;
    return !writer_.full();
  }

 private:
  Step& step_;
  const MemberScan& scan_;
  const Options& options_;
  net::RespWriter writer_;
};

Result<Step> TakeAll(CommandContext& context, Collection collection, const MemberScan& scan,
                     const Options& options) {
  Step step;
  StepWriter writer(step, scan, options, context.reply);
  CAIRN_RETURN_IF_ERROR(scan.visit_in_order(std::move(collection),
                                            [&](BytesView member, BytesView value) -> Result<bool> {
                                              return writer.Add(member, value);
                                            }));
  return step;
}

Result<Step> TakeStep(CommandContext& context, Elements& elements, const MemberScan& scan,
                      const SuffixRange& range, const Options& options) {
  Step step;
  StepWriter writer(step, scan, options, context.reply);
  std::optional<Error> error;
  int64_t visited = 0;
  const auto visit = [&](BytesView suffix, BytesView value) {
    // Many that are large end the step early: the cursor tells that there is more.
    if (visited++ == options.count || step.reply.size() > kMaxScanReplyBytes) {
      step.next = suffix;
      return false;
    }
    const std::optional<BytesView> member = scan.member(suffix);
    if (!member) {
      error = Error{ErrorCode::kCorruption,
                    fmt::format("the element {} is no member", Printable(suffix))};
      return false;
    }
    return writer.Add(*member, value);
  };
  CAIRN_RETURN_IF_ERROR(elements.Scan(range, {}, visit));
  if (error) return *error;
  return step;
}

void Reply(CommandContext& context, uint64_t cursor, size_t strings, std::string_view members) {
  context.reply.ArrayHeader(2);
  context.reply.Bulk(fmt::to_string(cursor));
  context.reply.ArrayHeader(strings);
  context.reply.Raw(members);
}

}  // namespace

Result<void> ScanMembers(CommandContext& context, ScanCursors& cursors,
                         const EncodingLimits& limits, const MemberScan& scan) {
  const std::optional<uint64_t> cursor = ParseCursor(context.args[2]);
  if (!cursor) return context.Fail("ERR invalid cursor");
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Load(context, context.args[1], scan.type));
  if (collection.wrong_type()) return context.Fail(kWrongType);
  // Redis looks at the options only where there is something to scan.
  if (!collection.exists()) {
    Reply(context, 0, 0, {});
    return {};
  }
  ArgParser parser(context.args, 3);
  const Options options = ParseOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());

  CAIRN_ASSIGN_OR_RETURN(const bool at_once, IsInOnePiece(collection.entry(), limits));
  if (at_once) {
    CAIRN_ASSIGN_OR_RETURN(const Step all, TakeAll(context, std::move(collection), scan, options));
    Reply(context, 0, all.members * scan.strings, all.reply);
    return {};
  }
  const uint8_t db = context.db();
  Elements& elements = collection.elements();
  const Bytes prefix = EncodeElementPrefix(db, elements.generation());
  SuffixRange range = scan.range;
  const std::optional<Bytes> position = *cursor == 0 ? std::nullopt : cursors.Find(*cursor, db);
  if (position && position->starts_with(prefix)) range.begin = position->substr(prefix.size());
  CAIRN_ASSIGN_OR_RETURN(const Step step, TakeStep(context, elements, scan, range, options));
  // A body that runs again leaves a cursor behind that nobody knows; it is forgotten in time.
  const uint64_t next_cursor = step.next ? cursors.Save(db, prefix + *step.next) : 0;
  Reply(context, next_cursor, step.members * scan.strings, step.reply);
  return {};
}

}  // namespace cairn::data

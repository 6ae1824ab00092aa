#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/string/commands.h"
#include "data/string/hyperloglog.h"
#include "data/value/entry.h"
#include "data/value/string_value.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

namespace cairn::data {
namespace {

using doors::Command;
using doors::CommandContext;

// A key's sketch with the string that it was read from.
struct StoredSketch {
  StringValue string;
  Bytes bytes;  // empty if the key does not exist
  HyperLogLog sketch;
};

// kInvalid if the key holds something else; then the message is the reply.
Result<StoredSketch> LoadSketch(CommandContext& context, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, key));
  if (string.wrong_type()) return Error{ErrorCode::kInvalid, std::string(kWrongType)};
  StoredSketch stored{std::move(string), {}, {}};
  if (!stored.string.exists()) return stored;
  CAIRN_ASSIGN_OR_RETURN(stored.bytes, stored.string.ReadAll());
  CAIRN_ASSIGN_OR_RETURN(stored.sketch, HyperLogLog::Decode(stored.bytes));
  return stored;
}

// The reply for a key that holds something else; other errors are passed on.
Result<void> Refuse(CommandContext& context, const Error& error) {
  if (error.code != ErrorCode::kInvalid) return error;
  return context.Fail(error.message);
}

// Writes the segments that have changed: a dense sketch has four.
Result<void> SaveSketch(CommandContext& context, StoredSketch& stored, std::string_view key) {
  const Bytes bytes = stored.sketch.Encode();
  StringValue& string = stored.string;
  if (bytes.size() == stored.bytes.size()) {
    for (size_t at = 0; at < bytes.size(); at += kSegmentBytes) {
      const BytesView segment = BytesView(bytes).substr(at, kSegmentBytes);
      if (segment == BytesView(stored.bytes).substr(at, kSegmentBytes)) continue;
      CAIRN_RETURN_IF_ERROR(string.Write(at, segment));
    }
    string.Save();
  } else {
    const auto expire_ms = string.exists() ? string.entry().expire_ms() : std::nullopt;
    PutString(string.entry(), bytes, expire_ms);
  }
  context.Notify(doors::kEventString, "pfadd", key);
  return {};
}

Result<void> PfAdd(CommandContext& context) {
  Result<StoredSketch> stored = LoadSketch(context, context.args[1]);
  if (!stored.ok()) return Refuse(context, stored.error());
  bool changed = !stored->string.exists();
  for (const std::string_view element : context.args.subspan(2)) {
    changed |= stored->sketch.Add(element);
  }
  if (changed) CAIRN_RETURN_IF_ERROR(SaveSketch(context, *stored, context.args[1]));
  context.reply.Integer(changed ? 1 : 0);
  return {};
}

Result<void> PfCount(CommandContext& context) {
  HyperLogLog all;
  for (const std::string_view key : context.args.subspan(1)) {
    Result<StoredSketch> stored = LoadSketch(context, key);
    if (!stored.ok()) return Refuse(context, stored.error());
    if (context.args.size() == 2) {
      all = std::move(stored->sketch);
    } else {
      all.Merge(stored->sketch);
    }
  }
  context.reply.Integer(static_cast<int64_t>(all.Estimate()));
  return {};
}

Result<void> PfMerge(CommandContext& context) {
  Result<StoredSketch> target = LoadSketch(context, context.args[1]);
  if (!target.ok()) return Refuse(context, target.error());
  for (const std::string_view key : context.args.subspan(2)) {
    Result<StoredSketch> source = LoadSketch(context, key);
    if (!source.ok()) return Refuse(context, source.error());
    target->sketch.Merge(source->sketch);
  }
  CAIRN_RETURN_IF_ERROR(SaveSketch(context, *target, context.args[1]));
  context.reply.Ok();
  return {};
}

// --- For tests
// ------------------------------------------------------------------------------------

// GETREG, ENCODING, TODENSE: key
Result<void> PfDebug(CommandContext& context) {
  const std::string_view key = context.args[2];
  Result<StoredSketch> stored = LoadSketch(context, key);
  if (!stored.ok()) return Refuse(context, stored.error());
  if (!stored->string.exists()) return context.Fail("ERR The specified key does not exist");
  HyperLogLog& sketch = stored->sketch;
  if (doors::EqualsIgnoreCase(context.args[1], "GETREG")) {
    context.reply.ArrayHeader(sketch.registers().size());
    for (const uint8_t value : sketch.registers()) context.reply.Integer(value);
    return {};
  }
  if (doors::EqualsIgnoreCase(context.args[1], "ENCODING")) {
    context.reply.Simple(sketch.dense() ? "dense" : "sparse");
    return {};
  }
  if (doors::EqualsIgnoreCase(context.args[1], "TODENSE")) {
    const bool changes = !sketch.dense();
    sketch.MakeDense();
    if (changes) CAIRN_RETURN_IF_ERROR(SaveSketch(context, *stored, key));
    context.reply.Integer(changes ? 1 : 0);
    return {};
  }
  return context.Fail(
      fmt::format("ERR Unknown PFDEBUG subcommand '{}'", doors::Quotable(context.args[1])));
}

// Whether a sketch is the same after it was stored, in whichever encoding that was.
bool SurvivesStorage(const HyperLogLog& sketch) {
  const Result<HyperLogLog> read = HyperLogLog::Decode(sketch.Encode());
  return read.ok() && read->registers() == sketch.registers();
}

// Counts elements that are all different, in both encodings, and looks whether the estimate stays
// within what the number of registers promises: six times the standard error is never seen.
Result<void> PfSelfTest(CommandContext& context) {
  constexpr uint64_t kElements = 100'000;
  constexpr double kStandardError = 1.04 / 128;
  HyperLogLog sketch;
  HyperLogLog dense;
  dense.MakeDense();
  for (uint64_t i = 1; i <= kElements; ++i) {
    const std::string element = fmt::to_string(i * 0x9e3779b97f4a7c15);
    sketch.Add(element);
    dense.Add(element);
    const bool looks = i % 1000 == 0 || i == 10 || i == 100;
    if (!looks) continue;
    const auto estimate = static_cast<double>(sketch.Estimate());
    const double error = std::abs(estimate - static_cast<double>(i));
    if (error > std::max(6 * kStandardError * static_cast<double>(i), 1.0)) {
      return context.Fail(fmt::format("TESTFAILED {} elements are estimated as {}", i, estimate));
    }
    if (sketch.registers() != dense.registers() || !SurvivesStorage(sketch) ||
        !SurvivesStorage(dense)) {
      return context.Fail(fmt::format("TESTFAILED the encodings differ at {} elements", i));
    }
  }
  context.reply.Ok();
  return {};
}

}  // namespace

void AddHyperLogLogCommands(doors::Instance& instance) {
  constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;
  const Command kRows[] = {
      {.name = "pfdebug",
       .arity = 3,
       .flags = kPut | doors::kAdmin,
       .keys = {{2, 2, 1, "RW access"}},
       .complexity = "O(1)",
       .summary = "Shows how a sketch is stored: GETREG, ENCODING; changes it: TODENSE.",
       .syntax = "subcommand key:key",
       .run = PfDebug},
      {.name = "pfselftest",
       .arity = 1,
       .flags = doors::kAdmin,
       .scopes = doors::ScopeRule::kNothing,
       .long_running = true,
       .complexity = "O(1)",
       .summary = "Checks that sketches count as they should.",
       .run = PfSelfTest},
      {.name = "pfadd",
       .arity = -2,
       .flags = kPut | doors::kFast,
       .keys = {{1, 1, 1, "RW insert"}},
       .complexity = "O(N) for N elements",
       .summary = "Adds elements to a sketch that counts distinct ones.",
       .syntax = "key:key [element ...]",
       .run = PfAdd},
      {.name = "pfcount",
       .arity = -2,
       .flags = doors::kReadOnly,
       .keys = {{1, -1, 1, "RW access"}},
       .complexity = "O(N) for N keys",
       .summary = "Estimates how many distinct elements were added to the sketches together.",
       .syntax = "key:key ...",
       .run = PfCount},
      {.name = "pfmerge",
       .arity = -2,
       .flags = kPut,
       .keys = {{1, 1, 1, "RW access insert"}, {2, -1, 1, "RO access"}},
       .complexity = "O(N) for N keys",
       .summary = "Adds sketches to a sketch.",
       .syntax = "destkey:key sourcekey:key ...",
       .run = PfMerge},
  };
  for (Command row : kRows) {
    row.categories = doors::kCategoryHyperLogLog;
    row.group = "hyperloglog";
    row.since = "2.8.9";
    instance.commands().Add(std::move(row));
  }
}

}  // namespace cairn::data

#include "functions/codeq/dead_letters.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/json_text.h"
#include "base/utf8.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"
#include "jobs/model/keys.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/queues.h"

namespace cairn::functions::codeq {
namespace {

// Letters that one transaction takes back to their topic.
constexpr size_t kRedriveBatch = 100;

Result<void> CheckDeadTopic(const doors::NamePatterns* queues, std::string_view dead_topic) {
  if (TopicOfDead(dead_topic).empty()) {
    return Refuse(Code::kNotFound,
                  fmt::format("'{}' has no dead letters: they are in {} and {}",
                              Printable(dead_topic, 64), kInvokeDeadTopic, kResultsDeadTopic));
  }
  return InOurWords(jobs::CheckQueue(queues, dead_topic));
}

Error NoLetter(std::string_view dead_topic, std::string_view id) {
  return Refuse(Code::kNotFound,
                fmt::format("{} has no dead letter {}", dead_topic, Printable(id, 64)));
}

int64_t IntegerOf(std::string_view json) {
  int64_t value = 0;
  std::from_chars(json.data(), json.data() + json.size(), value);
  return value;
}

DeadLetter LetterOf(const jobs::Job& job) {
  DeadLetter letter{.id = job.id};
  for (const jobs::RawMember& member :
       jobs::MembersOf(job.payload).value_or(std::vector<jobs::RawMember>())) {
    if (member.name == "reason") letter.reason = jobs::StringOf(member.json).value_or("");
    if (member.name == "original") letter.original = member.json;
    if (member.name == "received_at_ms") letter.received_at_ms = IntegerOf(member.json);
    if (member.name == "truncated") letter.truncated = member.json == "true";
  }
  // Put there by other means than codeQ's: it can be looked at all the same.
  if (letter.original.empty()) letter.original = job.payload;
  return letter;
}

// Where a letter stands in the line, in hexadecimal: its index time and its name.
std::string CursorOf(uint64_t ns, std::string_view job) {
  return fmt::format("{:016x}{}", ns, job);
}

// The rows of the line behind the cursor.
Result<store::Range> LineBehind(std::string_view dead_topic, std::string_view cursor) {
  const Bytes prefix = jobs::NamedPrefix(jobs::family::kAppend, dead_topic);
  store::Range range = store::Range::Prefix(store::Space::kJobs, prefix);
  if (cursor.empty()) return range;
  uint64_t ns = 0;
  const char* const end = cursor.data() + std::min<size_t>(cursor.size(), 16);
  const auto parsed = std::from_chars(cursor.data(), end, ns, 16);
  if (cursor.size() <= 16 || cursor.size() > 200 || parsed.ptr != cursor.data() + 16) {
    return Refuse(Code::kValidation, "cursor is not one that a page has given");
  }
  range.begin = jobs::AppendKey(dead_topic, ns, cursor.substr(16));
  range.begin.push_back('\0');
  return range;
}

struct Line {
  std::vector<std::string> ids;
  std::string next;  // behind the last of them; empty if nothing is there
};
Result<Line> ReadLine(store::Reader& reader, std::string_view dead_topic, std::string_view cursor,
                      size_t limit) {
  CAIRN_ASSIGN_OR_RETURN(const store::Range range, LineBehind(dead_topic, cursor));
  Line line;
  std::string last;
  CAIRN_RETURN_IF_ERROR(
      reader.Scan(range, {.limit = limit + 1}, [&](BytesView key, BytesView /*value*/) {
        const auto row = jobs::DecodeTimedKey(jobs::family::kAppend, key);
        if (!row) return true;
        if (line.ids.size() == limit) {
          line.next = last;
          return false;
        }
        line.ids.emplace_back(row->job);
        last = CursorOf(row->ns, row->job);
        return true;
      }));
  return line;
}

Result<jobs::Job> LoadLetter(store::Reader& reader, std::string_view dead_topic,
                             std::string_view id) {
  if (!jobs::IsId(id)) return NoLetter(dead_topic, id);
  CAIRN_ASSIGN_OR_RETURN(auto job, jobs::LoadJob(reader, id));
  if (!job || job->queue != dead_topic || jobs::IsFinished(job->state)) {
    return NoLetter(dead_topic, id);
  }
  return *std::move(job);
}

// What was published: text that is no JSON was kept as a string.
std::string OriginalText(const DeadLetter& letter) {
  return jobs::StringOf(letter.original).value_or(letter.original);
}

// Publishes one letter again. What keeps it a letter is a result, not an error.
Result<std::optional<Error>> RedriveOne(jobs::Context& context, std::string_view dead_topic,
                                        std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, LoadLetter(context.transaction, dead_topic, id));
  const Result<Outgoing> outgoing =
      Prepare({.topic = std::string(TopicOfDead(dead_topic)), .text = OriginalText(LetterOf(job))});
  if (!outgoing.ok()) return std::optional<Error>(outgoing.error());
  if (outgoing->fault) return std::optional<Error>(outgoing->fault);
  CAIRN_ASSIGN_OR_RETURN(const Published published, TryPublish(context, *outgoing));
  if (published.refused) return published.refused;
  jobs::Context own = OwnContext(context);
  CAIRN_RETURN_IF_ERROR(InOurWords(jobs::Delete(own, id)));
  return std::optional<Error>();
}

}  // namespace

std::string DeadLetterPayload(std::string_view original, std::string_view reason,
                              int64_t received_at_ms) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("reason", CleanText(reason, kMaxErrorMessageBytes));
  // A string at the top would be taken for text that is no JSON; as neither is a message, it may.
  if (IsJson(original)) {
    json.Raw("original", original);
  } else {
    json.Text("original", CleanText(original, kMaxDeadTextBytes));
    if (original.size() > kMaxDeadTextBytes) json.Switch("truncated", true);
  }
  json.Integer("received_at_ms", received_at_ms);
  json.EndObject();
  return text;
}

std::string DeadLetterJson(const DeadLetter& letter) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("id", letter.id);
  json.Text("reason", letter.reason);
  json.Raw("original", letter.original);
  if (letter.truncated) json.Switch("truncated", true);
  json.Integer("received_at_ms", letter.received_at_ms);
  json.EndObject();
  return text;
}

Result<DeadLetterPage> ListDeadLetters(store::Reader& reader, const doors::NamePatterns* queues,
                                       std::string_view dead_topic, std::string_view cursor,
                                       size_t limit) {
  CAIRN_RETURN_IF_ERROR(CheckDeadTopic(queues, dead_topic));
  if (limit < 1 || limit > kMaxDeadLetterPage) {
    return Refuse(Code::kValidation, fmt::format("limit must be 1 to {}", kMaxDeadLetterPage));
  }
  CAIRN_ASSIGN_OR_RETURN(Line line, ReadLine(reader, dead_topic, cursor, limit));
  DeadLetterPage page{.next = std::move(line.next)};
  size_t bytes = 0;
  for (const std::string& id : line.ids) {
    CAIRN_ASSIGN_OR_RETURN(const auto job, jobs::LoadJob(reader, id));
    if (!job) continue;
    bytes += job->payload.size();
    page.letters.push_back(LetterOf(*job));
    if (bytes < kMaxMessageBytes) continue;
    if (&id != &line.ids.back()) page.next = CursorOf(job->index_ns, id);
    break;
  }
  return page;
}

Result<DeadLetter> GetDeadLetter(store::Reader& reader, const doors::NamePatterns* queues,
                                 std::string_view dead_topic, std::string_view id) {
  CAIRN_RETURN_IF_ERROR(CheckDeadTopic(queues, dead_topic));
  CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, LoadLetter(reader, dead_topic, id));
  return LetterOf(job);
}

void AddRedriveScopes(const RedriveRequest& request, Locks& locks) {
  if (TopicOfDead(request.dead_topic) != kInvokeTopic) {
    locks.lanes = jobs::Held::Everything();
    return;
  }
  locks.lanes.AddQueue(request.dead_topic);
  locks.lanes.AddQueue(TopicOfDead(request.dead_topic));
}

Result<Redriven> Redrive(jobs::Context& context, const RedriveRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckDeadTopic(context.queues, request.dead_topic));
  CAIRN_RETURN_IF_ERROR(
      InOurWords(jobs::CheckQueue(context.queues, TopicOfDead(request.dead_topic))));
  Line line;
  if (request.id.empty()) {
    CAIRN_ASSIGN_OR_RETURN(
        line, ReadLine(context.transaction, request.dead_topic, request.cursor, kRedriveBatch));
  } else {
    line.ids.push_back(request.id);
  }
  Redriven redriven{.next = std::move(line.next)};
  for (const std::string& id : line.ids) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Error> kept, RedriveOne(context, request.dead_topic, id));
    ++(kept ? redriven.kept : redriven.redriven);
    if (kept) redriven.refused = std::move(kept);
  }
  return redriven;
}

void AddPurgeScopes(std::string_view dead_topic, std::string_view id, Locks& locks) {
  locks.lanes.AddQueue(dead_topic);
  if (!id.empty()) locks.lanes.AddJob(id);
}

Result<Purged> Purge(jobs::Context& context, std::string_view dead_topic, std::string_view id) {
  CAIRN_RETURN_IF_ERROR(CheckDeadTopic(context.queues, dead_topic));
  jobs::Context own = OwnContext(context);
  if (!id.empty()) {
    CAIRN_RETURN_IF_ERROR(LoadLetter(context.transaction, dead_topic, id));
    CAIRN_RETURN_IF_ERROR(InOurWords(jobs::Delete(own, id)));
    return Purged{.purged = 1};
  }
  const Result<jobs::Sweep> sweep = InOurWords(jobs::ClearQueue(own, dead_topic));
  if (!sweep.ok() && IsRefusal(sweep.error(), Code::kNotFound)) return Purged();
  if (!sweep.ok()) return sweep.error();
  return Purged{.purged = sweep->removed, .more = sweep->more};
}

}  // namespace cairn::functions::codeq

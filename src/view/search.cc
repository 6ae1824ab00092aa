#include "view/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/json_text.h"

namespace cairn::view {
namespace {

namespace json = boost::json;

Error Invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

struct SortRow {
  std::string_view name;
  std::string_view sql;  // never null
  bool is_text;
};
constexpr std::array<SortRow, 5> kSorts = {{
    {"created_at", "created_at", true},
    {"priority", "priority", false},
    {"started_at", "coalesce(started_at, '')", true},
    {"completed_at", "coalesce(completed_at, '')", true},
    {"attempt", "attempt", false},
}};

const SortRow* FindSort(std::string_view name) {
  const auto* const row = std::find_if(kSorts.begin(), kSorts.end(),
                                       [&](const SortRow& sort) { return sort.name == name; });
  return row == kSorts.end() ? nullptr : row;
}

// What a job of a list shows, in this order.
enum class Kind { kText, kNumber, kJson };
struct Column {
  std::string_view name;
  Kind kind;
};
constexpr std::array<Column, 19> kColumns = {{
    {"id", Kind::kText},
    {"queue", Kind::kText},
    {"state", Kind::kText},
    {"payload", Kind::kJson},
    {"priority", Kind::kNumber},
    {"attempt", Kind::kNumber},
    {"max_retries", Kind::kNumber},
    {"unique_key", Kind::kText},
    {"batch_id", Kind::kText},
    {"worker_id", Kind::kText},
    {"tags", Kind::kJson},
    {"parent_id", Kind::kText},
    {"chain_id", Kind::kText},
    {"chain_step", Kind::kNumber},
    {"scheduled_at", Kind::kText},
    {"created_at", Kind::kText},
    {"started_at", Kind::kText},
    {"completed_at", Kind::kText},
    {"failed_at", Kind::kText},
}};
constexpr int kSortColumn = 1;  // of a page's ids

std::string ColumnNames() {
  std::string names;
  for (const Column& column : kColumns) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
  }
  return names;
}

// The columns that have a value.
std::string RowJson(const Statement& row) {
  std::string out = "{";
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const int at = static_cast<int>(i);
    if (row.IsNull(at)) continue;
    out += fmt::format("{}\"{}\":", out.size() == 1 ? "" : ",", kColumns[i].name);
    switch (kColumns[i].kind) {
      case Kind::kText:
        AppendJsonString(row.Text(at), out);
        break;
      case Kind::kNumber:
        out += fmt::to_string(row.Integer(at));
        break;
      case Kind::kJson:
        out += row.Text(at);
        break;
    }
  }
  return out + "}";
}

std::optional<std::string> HexDecode(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

Result<std::string> Word(const json::object& given, std::string_view name) {
  const json::value* const value = given.if_contains(name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return Invalid(fmt::format("{}: expected a string", name));
  return std::string(value->as_string());
}

}  // namespace

std::string EncodeCursor(const Cursor& cursor) {
  json::object object{{"s", cursor.sort}, {"a", cursor.ascending}, {"i", cursor.id}};
  if (const auto* text = std::get_if<std::string>(&cursor.key)) {
    object["k"] = *text;
  } else {
    object["k"] = std::get<int64_t>(cursor.key);
  }
  return HexEncode(json::serialize(object));
}

Result<Cursor> DecodeCursor(std::string_view text) {
  const Error wrong = Invalid("cursor: expected the cursor of an earlier answer");
  const std::optional<std::string> bytes = HexDecode(text);
  if (!bytes) return wrong;
  boost::system::error_code failure;
  const json::value value = json::parse(*bytes, failure);
  if (failure || !value.is_object()) return wrong;
  const json::object& object = value.as_object();
  const json::value* const sort = object.if_contains("s");
  const json::value* const ascending = object.if_contains("a");
  const json::value* const key = object.if_contains("k");
  const json::value* const id = object.if_contains("i");
  if (sort == nullptr || !sort->is_string() || ascending == nullptr || !ascending->is_bool() ||
      key == nullptr || id == nullptr || !id->is_string()) {
    return wrong;
  }
  Cursor cursor{std::string(sort->as_string()), ascending->as_bool(), int64_t{0},
                std::string(id->as_string())};
  const SortRow* const row = FindSort(cursor.sort);
  if (row == nullptr || row->is_text != key->is_string() || row->is_text == key->is_int64()) {
    return wrong;
  }
  if (row->is_text) {
    cursor.key = std::string(key->as_string());
  } else {
    cursor.key = key->as_int64();
  }
  return cursor;
}

Result<SearchRequest> ParseSearch(const json::object& given) {
  SearchRequest request;
  CAIRN_ASSIGN_OR_RETURN(request.filter, ParseFilter(given, {"sort", "order", "limit", "cursor"}));
  CAIRN_ASSIGN_OR_RETURN(const std::string sort, Word(given, "sort"));
  if (!sort.empty()) request.sort = sort;
  if (FindSort(request.sort) == nullptr) {
    return Invalid("sort: expected created_at, priority, started_at, completed_at or attempt");
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string order, Word(given, "order"));
  if (!order.empty() && order != "asc" && order != "desc") {
    return Invalid("order: expected asc or desc");
  }
  request.ascending = order == "asc";
  if (const json::value* const limit = given.if_contains("limit"); limit && !limit->is_null()) {
    if (!limit->is_int64() || limit->as_int64() < 1 || limit->as_int64() > kMaxPage) {
      return Invalid(fmt::format("limit: expected 1 to {}", kMaxPage));
    }
    request.limit = limit->as_int64();
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string cursor, Word(given, "cursor"));
  if (!cursor.empty()) {
    CAIRN_ASSIGN_OR_RETURN(request.cursor, DecodeCursor(cursor));
    if (request.cursor->sort != request.sort || request.cursor->ascending != request.ascending) {
      return Invalid("cursor: it comes from an answer with another sort or order");
    }
  }
  return request;
}

namespace {

// What is asked for a page: SQL, and the values of its parameters in order.
struct PageQuery {
  std::string sql;
  std::vector<Condition> bound;
};

std::string OrderOf(const SearchRequest& request, const SortRow& sort) {
  const std::string_view order = request.ascending ? "ASC" : "DESC";
  return fmt::format("ORDER BY {} {}, id {} LIMIT {}", sort.sql, order, order,
                     request.limit + 1);  // one more, to know whether there is one
}

PageQuery PlainQuery(const SearchRequest& request, const SortRow& sort, const Condition& where) {
  return {fmt::format("SELECT id, {} FROM jobs WHERE {} {}", sort.sql, where.sql(),
                      OrderOf(request, sort)),
          {where}};
}

// The jobs of a queue in some states by their age, which is what people look at most. The index has
// them in that order for each state and priority: the page is taken from the heads of these lists,
// however long they are.
PageQuery QueueQuery(const SearchRequest& request, const SortRow& sort, const Condition& where) {
  PageQuery query;
  std::string lists;
  for (const jobs::State state : request.filter.states) {
    for (int64_t priority = 0; priority <= 2; ++priority) {
      Condition list = where;
      list.And("state = ?", {std::string(jobs::StateName(state))});
      list.And("priority = ?", {priority});
      lists += fmt::format(
          "{}SELECT * FROM (SELECT id, {} FROM jobs INDEXED BY idx_jobs_queue_state_priority WHERE "
          "{} {})",
          lists.empty() ? "" : " UNION ALL ", sort.sql, list.sql(), OrderOf(request, sort));
      query.bound.push_back(std::move(list));
    }
  }
  query.sql = fmt::format("SELECT id, {} FROM ({}) {}", sort.sql, lists, OrderOf(request, sort));
  return query;
}

PageQuery MakeQuery(const SearchRequest& request, const SortRow& sort) {
  Condition where = request.filter.where;
  if (request.cursor) {
    const Condition::Value key =
        std::visit([](const auto& value) { return Condition::Value(value); }, request.cursor->key);
    where.And(fmt::format("({}, id) {} (?, ?)", sort.sql, request.ascending ? ">" : "<"),
              {key, request.cursor->id});
  }
  const bool by_age = sort.name == "created_at";
  if (by_age && !request.filter.queue.empty() && !request.filter.states.empty()) {
    return QueueQuery(request, sort, where);
  }
  return PlainQuery(request, sort, where);
}

Result<void> ReadPage(Database& database, const SearchRequest& request, SearchResult& result) {
  const SortRow& sort = *FindSort(request.sort);
  const PageQuery query = MakeQuery(request, sort);
  CAIRN_ASSIGN_OR_RETURN(Statement page, database.Prepare(query.sql));
  for (const Condition& condition : query.bound) condition.BindTo(page);
  // Only ids are sorted: whole jobs are looked at one by one, as far as the page goes.
  CAIRN_ASSIGN_OR_RETURN(Statement job, database.Prepare(fmt::format(
                                            "SELECT {} FROM jobs WHERE id = ?", ColumnNames())));
  size_t bytes = 0;
  Cursor last{request.sort, request.ascending, int64_t{0}, ""};
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, page.Step());
    if (!row) return {};
    if (static_cast<int64_t>(result.jobs.size()) == request.limit) {
      result.next = last;
      return {};
    }
    job.Reset();
    job.Bind(page.Text(0));
    CAIRN_ASSIGN_OR_RETURN(const bool found, job.Step());
    if (!found) continue;
    std::string text = RowJson(job);
    if (bytes + text.size() > kMaxPageBytes && !result.jobs.empty()) {
      result.next = last;
      return {};
    }
    bytes += text.size();
    result.jobs.push_back(std::move(text));
    last.id = page.Text(0);
    if (sort.is_text) {
      last.key = std::string(page.Text(kSortColumn));
    } else {
      last.key = page.Integer(kSortColumn);
    }
  }
}

}  // namespace

Result<SearchResult> Search(Database& database, const SearchRequest& request) {
  SearchResult result;
  // One moment for the count and the page.
  CAIRN_RETURN_IF_ERROR(database.Execute("BEGIN"));
  const auto ask = [&]() -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(result.total, Count(database, request.filter.where));
    return ReadPage(database, request, result);
  };
  const Result<void> asked = ask();
  CAIRN_RETURN_IF_ERROR(database.Execute("ROLLBACK"));
  if (!asked.ok()) return asked.error();
  return result;
}

Result<int64_t> Count(Database& database, const Condition& where) {
  CAIRN_ASSIGN_OR_RETURN(Statement count,
                         database.Prepare("SELECT count(*) FROM jobs WHERE " + where.sql()));
  where.BindTo(count);
  CAIRN_ASSIGN_OR_RETURN(const bool row, count.Step());
  return row ? count.Integer(0) : 0;
}

Result<Extent> Measure(Database& database, const Condition& where) {
  CAIRN_ASSIGN_OR_RETURN(
      Statement ask, database.Prepare("SELECT count(*), max(id) FROM jobs WHERE " + where.sql()));
  where.BindTo(ask);
  CAIRN_ASSIGN_OR_RETURN(const bool row, ask.Step());
  if (!row) return Extent{};
  return Extent{.count = ask.Integer(0), .last = std::string(ask.Text(1))};
}

Result<std::vector<std::string>> Ids(Database& database, const Condition& where, int64_t limit) {
  CAIRN_ASSIGN_OR_RETURN(Statement ids,
                         database.Prepare(fmt::format(
                             "SELECT id FROM jobs WHERE {} ORDER BY id LIMIT ?", where.sql())));
  where.BindTo(ids);
  ids.Bind(limit);
  std::vector<std::string> found;
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, ids.Step());
    if (!row) return found;
    found.emplace_back(ids.Text(0));
  }
}

namespace {

// Every word as a string of FTS5's language, so that nothing in it is an operator; a * behind it
// stays one.
std::string MatchExpression(std::string_view text) {
  std::string match;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) return match;
    const size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const bool prefix = word.size() > 1 && word.back() == '*';
    if (prefix) word.remove_suffix(1);
    if (!match.empty()) match += ' ';
    match += '"';
    for (const char c : word) {
      if (c == '\0') continue;  // ends an expression
      match += c;
      if (c == '"') match += c;
    }
    match += prefix ? "\" *" : "\"";
  }
}

}  // namespace

Result<FullTextResult> FullText(Database& database, std::string_view text, const Condition& where,
                                int64_t limit) {
  const std::string match = MatchExpression(text);
  FullTextResult found;
  size_t bytes = 0;
  if (match.empty()) return found;
  CAIRN_ASSIGN_OR_RETURN(
      Statement rows, database.Prepare(fmt::format(
                          "SELECT jobs.id, jobs.queue, jobs.state, jobs.payload, jobs.tags, "
                          "jobs.created_at FROM jobs_fts JOIN jobs ON jobs.rowid = jobs_fts.rowid "
                          "WHERE jobs_fts MATCH ? AND {} ORDER BY jobs_fts.rowid DESC LIMIT ?",
                          where.sql())));
  rows.Bind(std::string_view(match));
  where.BindTo(rows);
  rows.Bind(limit);
  constexpr std::array<std::string_view, 6> kNames = {"id",      "queue", "state",
                                                      "payload", "tags",  "created_at"};
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return found;
    std::string out = "{";
    for (size_t i = 0; i < kNames.size(); ++i) {
      const int at = static_cast<int>(i);
      if (rows.IsNull(at)) continue;
      out += fmt::format("{}\"{}\":", i == 0 ? "" : ",", kNames[i]);
      AppendJsonString(rows.Text(at), out);
    }
    out += "}";
    found.has_more = bytes + out.size() > kMaxPageBytes && !found.jobs.empty();
    if (found.has_more) return found;
    bytes += out.size();
    found.jobs.push_back(std::move(out));
  }
}

}  // namespace cairn::view

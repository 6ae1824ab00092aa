#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "jobs/model/limits.h"
#include "view/filter.h"
#include "view/limits.h"
#include "view/sqlite.h"

// Questions to a view file. Each is one SQLite read: it sees the jobs as of one moment.
namespace cairn::view {

// Where a page ended. The next one begins behind it, in the order of (sort key, id): jobs that
// come, go or change between two pages neither hide another job nor show one twice.
struct Cursor {
  std::string sort;
  bool ascending = false;
  std::variant<std::string, int64_t> key;
  std::string id;
};
std::string EncodeCursor(const Cursor& cursor);
// kInvalid for text that EncodeCursor has not made.
Result<Cursor> DecodeCursor(std::string_view text);

struct SearchRequest {
  JobFilter filter;
  std::string sort = "created_at";  // or priority, started_at, completed_at, attempt
  bool ascending = false;
  int64_t limit = kDefaultPage;
  std::optional<Cursor> cursor;
};
// The filter's members with sort, order, limit and cursor.
Result<SearchRequest> ParseSearch(const boost::json::object& json);

struct SearchResult {
  std::vector<std::string> jobs;  // one JSON object each
  int64_t total = 0;              // that fit, on all pages
  std::optional<Cursor> next;
};
Result<SearchResult> Search(Database& database, const SearchRequest& request);

// How many jobs fit.
Result<int64_t> Count(Database& database, const Condition& where);
// How many fit, and the last id of them; empty if none does.
struct Extent {
  int64_t count = 0;
  std::string last;
};
Result<Extent> Measure(Database& database, const Condition& where);
// The ids that fit, in order, `limit` at most.
Result<std::vector<std::string>> Ids(Database& database, const Condition& where, int64_t limit);

// Jobs that fit `where`, and in whose id, queue, payload or tags all words of `text` occur, newest
// first, as JSON objects; a word that ends in * stands for all that begin so. Ends early as a page
// does.
struct FullTextResult {
  std::vector<std::string> jobs;
  bool has_more = false;
};
Result<FullTextResult> FullText(Database& database, std::string_view text, const Condition& where,
                                int64_t limit);

}  // namespace cairn::view

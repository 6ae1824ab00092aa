#include "view/id_list.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace cairn::view {
namespace {

constexpr int64_t kIdsPerLook = 4'096;

}  // namespace

Result<IdList> IdList::Make(Database& view, const Condition& where, const Bounds& bounds,
                            const std::string& file, FunctionRef<bool()> go_on) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);  // of a process that ended between the next two steps
  CAIRN_ASSIGN_OR_RETURN(Database database, Database::Open(file, OpenMode::kReadWrite));
  IdList list(std::move(database));
  // Nobody else opens it and nothing survives a crash: no journal, no locks, no sync.
  CAIRN_RETURN_IF_ERROR(
      list.database_.Execute("PRAGMA journal_mode = OFF;"
                             "PRAGMA synchronous = OFF;"
                             "PRAGMA locking_mode = EXCLUSIVE;"
                             "PRAGMA cache_size = -4096;"  // 4 MiB
                             "CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID;"));
  std::filesystem::remove(file, ignored);
  CAIRN_RETURN_IF_ERROR(list.Fill(view, where, bounds, go_on));
  CAIRN_ASSIGN_OR_RETURN(
      list.next_, list.database_.Prepare("SELECT id FROM ids WHERE id > ? ORDER BY id LIMIT ?"));
  return list;
}

Result<void> IdList::Fill(Database& view, const Condition& where, const Bounds& bounds,
                          FunctionRef<bool()> go_on) {
  CAIRN_ASSIGN_OR_RETURN(
      Statement found, view.Prepare(fmt::format(
                           "SELECT id FROM jobs WHERE {} AND +id > ? AND +id <= ?", where.sql())));
  where.BindTo(found);
  found.Bind(bounds.after).Bind(bounds.until);
  CAIRN_ASSIGN_OR_RETURN(Statement keep, database_.Prepare("INSERT INTO ids (id) VALUES (?)"));
  CAIRN_RETURN_IF_ERROR(database_.Execute("BEGIN"));
  for (int64_t count = 1;; ++count) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, found.Step());
    if (!row) break;
    CAIRN_RETURN_IF_ERROR(keep.Bind(found.Text(0)).Run());
    if (count % kIdsPerLook == 0 && !go_on()) {
      return Error{ErrorCode::kUnavailable, "stopping; it goes on after the start"};
    }
  }
  filling_work_ = found.work() + keep.work();
  return database_.Execute("COMMIT");
}

Result<std::vector<std::string>> IdList::Next(std::string_view after, int64_t limit) {
  next_.Reset();
  next_.Bind(after).Bind(limit);
  std::vector<std::string> ids;
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, next_.Step());
    if (!row) return ids;
    ids.emplace_back(next_.Text(0));
  }
}

}  // namespace cairn::view

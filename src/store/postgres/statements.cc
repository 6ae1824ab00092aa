#include "store/postgres/statements.h"

#include <fmt/format.h>

namespace cairn::store::postgres {
namespace {

constexpr size_t kPerSpace = static_cast<size_t>(SpaceStatement::kCount);

std::string SpaceSql(const std::string& schema, Space space, SpaceStatement statement) {
  const std::string table = Qualified(schema, SpaceName(space));
  const std::string counter = Qualified(schema, "counter");
  switch (statement) {
    case SpaceStatement::kGet:
      return fmt::format("SELECT value FROM {} WHERE key = $1::bytea", table);
    case SpaceStatement::kGetMany:
      return fmt::format("SELECT key, value FROM {} WHERE key = ANY ($1::bytea[])", table);
    case SpaceStatement::kForward:
      return fmt::format(
          "SELECT key, value FROM {} WHERE key >= $1::bytea ORDER BY key LIMIT $2::bigint", table);
    case SpaceStatement::kForwardTo:
      return fmt::format(
          "SELECT key, value FROM {} WHERE key >= $1::bytea AND key < $2::bytea ORDER BY key "
          "LIMIT $3::bigint",
          table);
    case SpaceStatement::kBackward:
      return fmt::format(
          "SELECT key, value FROM {} WHERE key >= $1::bytea ORDER BY key DESC LIMIT $2::bigint",
          table);
    case SpaceStatement::kBackwardFrom:
      return fmt::format(
          "SELECT key, value FROM {} WHERE key >= $1::bytea AND key < $2::bytea ORDER BY key DESC "
          "LIMIT $3::bigint",
          table);
    case SpaceStatement::kPut:
      return fmt::format(
          "INSERT INTO {} (key, value) VALUES ($1::bytea, $2::bytea) "
          "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          table);
    case SpaceStatement::kPutMany:
      return fmt::format(
          "INSERT INTO {} (key, value) SELECT k, v FROM unnest($1::bytea[], $2::bytea[]) AS t(k, "
          "v) "
          "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          table);
    case SpaceStatement::kDelete:
      return fmt::format("DELETE FROM {} WHERE key = $1::bytea", table);
    case SpaceStatement::kDeleteMany:
      return fmt::format("DELETE FROM {} WHERE key = ANY ($1::bytea[])", table);
    case SpaceStatement::kDeleteFrom:
      return fmt::format("DELETE FROM {} WHERE key >= $1::bytea", table);
    case SpaceStatement::kDeleteRange:
      return fmt::format("DELETE FROM {} WHERE key >= $1::bytea AND key < $2::bytea", table);
    case SpaceStatement::kAppendEvents:
      // The number as 8 bytes, big-endian: the only way that all three engines can write it. Who
      // takes several has the turn (QueueEvents), so they follow one another.
      return fmt::format(
          "INSERT INTO {} (key, value) SELECT $1::bytea || decode(lpad(to_hex(max(taken.number)), "
          "16, '0'), 'hex'), $2::bytea FROM (SELECT nextval('{}') AS number FROM "
          "generate_series(1, $3::bigint)) AS taken",
          table, Qualified(schema, "event"));
    case SpaceStatement::kMarkCounter:
      return fmt::format(
          "INSERT INTO {} (key, value) VALUES ($1::bytea, NULL) ON CONFLICT (key) DO NOTHING",
          table);
    case SpaceStatement::kAddToCounter:
      return fmt::format(
          "INSERT INTO {0} (space, key, slot, delta) "
          "VALUES ('{1}', $1::bytea, $2::bigint, $3::bigint) "
          "ON CONFLICT (space, key, slot) DO UPDATE SET delta = {0}.delta + excluded.delta",
          counter, SpaceName(space));
    case SpaceStatement::kSumCounter:
      return fmt::format(
          "SELECT coalesce(sum(delta), 0)::bigint FROM {} WHERE space = '{}' AND key = $1::bytea",
          counter, SpaceName(space));
    case SpaceStatement::kCount:
      break;
  }
  return {};
}

std::string Sql(const std::string& schema, Statement statement) {
  switch (statement) {
    case Statement::kBeginWrite:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE";
    case Statement::kBeginRead:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY";
    case Statement::kBeginSnapshot:
      return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    case Statement::kHoldSnapshot:
      return "SET LOCAL idle_in_transaction_session_timeout = 0";
    case Statement::kCommit:
      return "COMMIT";
    case Statement::kRollback:
      return "ROLLBACK";
    case Statement::kLockShared:
      return "SELECT pg_advisory_lock_shared($1::bigint)";
    case Statement::kLockAlone:
      return "SELECT pg_advisory_lock($1::bigint)";
    case Statement::kLockScopes:
      return "SELECT pg_advisory_lock(k) FROM unnest($1::bigint[]) AS k";
    case Statement::kUnlockAll:
      return "SELECT pg_advisory_unlock_all()";
    case Statement::kLockEvents:
      return "SELECT pg_advisory_xact_lock($1::bigint)";
    case Statement::kTakeEventTurn:
      return fmt::format("UPDATE {} SET value = value + 1 WHERE name = 'event turn'",
                         Qualified(schema, "number"));
    case Statement::kNextStamps:
      return fmt::format("SELECT nextval('{}')", Qualified(schema, "stamp"));
    case Statement::kNextEpoch:
      return fmt::format("SELECT nextval('{}')", Qualified(schema, "epoch"));
    case Statement::kAddMarker:
      return fmt::format("INSERT INTO {} (id) VALUES ($1::bytea)", Qualified(schema, "marker"));
    case Statement::kForgetMarkers:
      return fmt::format("DELETE FROM {} WHERE id = ANY ($1::bytea[])",
                         Qualified(schema, "marker"));
    case Statement::kForgetOldMarkers:
      return fmt::format("DELETE FROM {} WHERE made < now() - INTERVAL '1 hour'",
                         Qualified(schema, "marker"));
    case Statement::kNotify:
      return "SELECT pg_notify($1::text, $2::text)";
    case Statement::kCount:
      break;
  }
  return {};
}

}  // namespace

StatementId::StatementId(Statement statement)
    : index(static_cast<uint16_t>(kAllSpaces.size() * kPerSpace + static_cast<size_t>(statement))) {
}

StatementId::StatementId(Space space, SpaceStatement statement)
    : index(static_cast<uint16_t>(static_cast<size_t>(space) * kPerSpace +
                                  static_cast<size_t>(statement))) {}

Statements::Statements(const std::string& schema) {
  const auto add = [this](std::string sql) {
    all_.push_back({fmt::format("cairn{}", all_.size()), std::move(sql)});
  };
  for (const Space space : kAllSpaces) {
    for (size_t i = 0; i < kPerSpace; ++i) {
      add(SpaceSql(schema, space, static_cast<SpaceStatement>(i)));
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(Statement::kCount); ++i) {
    add(Sql(schema, static_cast<Statement>(i)));
  }
}

std::string Qualified(const std::string& schema, std::string_view name) {
  return fmt::format("\"{}\".\"{}\"", schema, name);
}

}  // namespace cairn::store::postgres

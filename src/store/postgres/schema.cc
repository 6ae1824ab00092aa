#include "store/postgres/schema.h"

#include <fmt/format.h>

#include <charconv>

namespace cairn::store::postgres {
namespace {

// How often making the schema is tried when another process makes it too.
constexpr int kTries = 20;

std::vector<std::string> Definitions(const Options& options) {
  const auto name = [&](std::string_view table) { return Qualified(options.schema, table); };
  std::vector<std::string> sql = {
      fmt::format("CREATE SCHEMA IF NOT EXISTS \"{}\"", options.schema),
      fmt::format("CREATE TABLE {} (name text PRIMARY KEY, value text NOT NULL)", name("meta")),
  };
  for (const Space space : kAllSpaces) {
    // Room in each page lets a changed value stay beside its old one, so that the index, and with
    // it every transaction that reads nearby, is left alone.
    sql.push_back(
        fmt::format("CREATE TABLE {} (key bytea PRIMARY KEY, value bytea) WITH (fillfactor = 80)",
                    name(SpaceName(space))));
  }
  sql.push_back(
      fmt::format("CREATE TABLE {} (space text, key bytea, slot bigint, delta bigint NOT NULL, "
                  "PRIMARY KEY (space, key, slot)) WITH (fillfactor = 50)",
                  name("counter")));
  sql.push_back(
      fmt::format("CREATE TABLE {} (id bytea PRIMARY KEY, made timestamptz NOT NULL DEFAULT now())",
                  name("marker")));
  sql.push_back(fmt::format("CREATE TABLE {} (name text PRIMARY KEY, value bigint NOT NULL)",
                            name("number")));
  sql.push_back(fmt::format("CREATE SEQUENCE {} INCREMENT BY {}", name("stamp"), kStampsAtOnce));
  sql.push_back(fmt::format("CREATE SEQUENCE {}", name("event")));
  sql.push_back(fmt::format("CREATE SEQUENCE {}", name("epoch")));
  sql.push_back(fmt::format("INSERT INTO {} VALUES ('event turn', 0)", name("number")));
  sql.push_back(fmt::format("INSERT INTO {} VALUES ('version', '{}'), ('made by', '{}')",
                            name("meta"), kSchemaVersion, options.version));
  return sql;
}

bool MadeByAnother(const Replies& replies) {
  // Unique violation in the catalogue, "already exists" of a schema or a table, or a conflict.
  return replies.conflict || replies.sqlstate == "23505" || replies.sqlstate == "42P06" ||
         replies.sqlstate == "42P07";
}

Replies Create(Connection& connection, const Options& options) {
  Replies replies = connection.Execute("BEGIN");
  for (const std::string& sql : Definitions(options)) {
    if (replies.ok()) replies = connection.Execute(sql);
  }
  if (replies.ok()) return connection.Execute("COMMIT");
  connection.Execute("ROLLBACK");
  return replies;
}

Result<void> CheckVersion(const SchemaReport& report, const std::string& schema) {
  if (report.version == kSchemaVersion) return {};
  return Error{
      ErrorCode::kConflict,
      fmt::format("schema \"{}\" has version {} (made by Cairn {}), this Cairn reads version {}: "
                  "{}",
                  schema, report.version, report.made_by, kSchemaVersion,
                  report.version > kSchemaVersion ? "use a newer Cairn"
                                                  : "use an older Cairn, or migrate")};
}

// The tables of all versions are the same; what differs are records, which are read either way.
Result<void> Adopt(Connection& connection, const SchemaReport& report, const std::string& schema) {
  if (report.version < 1 || report.version >= kSchemaVersion) return CheckVersion(report, schema);
  const Replies adopted =
      connection.Execute(fmt::format("UPDATE {} SET value = '{}' WHERE name = 'version'",
                                     Qualified(schema, "meta"), kSchemaVersion));
  if (!adopted.ok()) return *adopted.error;
  return {};
}

}  // namespace

Result<SchemaReport> ReadSchema(Connection& connection, const std::string& schema) {
  const Replies tables = connection.Execute(fmt::format(
      "SELECT table_name::text FROM information_schema.tables WHERE table_schema = '{}'", schema));
  if (!tables.ok()) return *tables.error;
  SchemaReport report;
  if (tables.rows[0].size() == 0) return report;
  const Replies meta =
      connection.Execute(fmt::format("SELECT name, value FROM {}", Qualified(schema, "meta")));
  if (!meta.ok() && meta.error->code == ErrorCode::kForbidden) return *meta.error;
  const std::string foreign =
      fmt::format("schema \"{}\" holds tables, but no Cairn store: choose another", schema);
  if (!meta.ok() && connection.lost()) return *meta.error;
  if (!meta.ok()) return Error{ErrorCode::kConflict, foreign};
  for (size_t row = 0; row < meta.rows[0].size(); ++row) {
    const BytesView name = meta.rows[0].at(row, 0).value_or("");
    const BytesView value = meta.rows[0].at(row, 1).value_or("");
    if (name == "made by") report.made_by = value;
    if (name == "version") {
      std::from_chars(value.data(), value.data() + value.size(), report.version);
    }
  }
  if (report.version == 0) return Error{ErrorCode::kConflict, foreign};
  return report;
}

Result<void> PrepareSchema(Connection& connection, const Options& options) {
  for (int tries = 0;; ++tries) {
    CAIRN_ASSIGN_OR_RETURN(const SchemaReport report, ReadSchema(connection, options.schema));
    if (report.version != 0) return Adopt(connection, report, options.schema);
    const Replies made = Create(connection, options);
    if (made.ok()) return {};
    if (!MadeByAnother(made) || tries == kTries) {
      return Error{made.error->code, fmt::format("cannot make schema \"{}\": {}", options.schema,
                                                 made.error->message)};
    }
  }
}

}  // namespace cairn::store::postgres

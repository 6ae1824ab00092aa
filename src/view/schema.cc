#include "view/schema.h"

#include <fmt/format.h>

#include <string>

namespace cairn::view {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY,
  queue TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  payload TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 2,
  attempt INTEGER NOT NULL DEFAULT 0,
  max_retries INTEGER NOT NULL DEFAULT 3,
  retry_backoff TEXT NOT NULL DEFAULT 'exponential',
  retry_base_delay_ms INTEGER NOT NULL DEFAULT 5000,
  retry_max_delay_ms INTEGER NOT NULL DEFAULT 600000,
  unique_key TEXT,
  batch_id TEXT,
  worker_id TEXT,
  hostname TEXT,
  tags TEXT,
  progress TEXT,
  checkpoint TEXT,
  result TEXT,
  result_schema TEXT,
  parent_id TEXT REFERENCES jobs(id),
  chain_id TEXT,
  chain_step INTEGER,
  chain_config TEXT,
  provider_error INTEGER NOT NULL DEFAULT 0,
  routing TEXT,
  routing_target TEXT,
  routing_index INTEGER NOT NULL DEFAULT 0,
  agent_max_iterations INTEGER,
  agent_max_cost_usd REAL,
  agent_iteration_timeout TEXT,
  agent_iteration INTEGER NOT NULL DEFAULT 0,
  agent_total_cost_usd REAL NOT NULL DEFAULT 0,
  hold_reason TEXT,
  lease_expires_at TEXT,
  scheduled_at TEXT,
  expire_at TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT,
  completed_at TEXT,
  failed_at TEXT
);
CREATE INDEX IF NOT EXISTS idx_jobs_queue_state_priority ON jobs(queue, state, priority, created_at);
CREATE INDEX IF NOT EXISTS idx_jobs_state ON jobs(state);
CREATE INDEX IF NOT EXISTS idx_jobs_scheduled ON jobs(state, scheduled_at) WHERE state IN ('scheduled','retrying');
CREATE INDEX IF NOT EXISTS idx_jobs_lease ON jobs(state, lease_expires_at) WHERE state = 'active';
CREATE INDEX IF NOT EXISTS idx_jobs_unique ON jobs(queue, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_jobs_batch ON jobs(batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_jobs_expire ON jobs(expire_at) WHERE expire_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_jobs_created ON jobs(created_at);
CREATE TABLE IF NOT EXISTS job_errors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  error TEXT NOT NULL,
  backtrace TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS unique_locks (
  queue TEXT NOT NULL,
  unique_key TEXT NOT NULL,
  job_id TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  PRIMARY KEY (queue, unique_key)
);
CREATE TABLE IF NOT EXISTS batches (
  id TEXT PRIMARY KEY,
  total INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  callback_queue TEXT,
  callback_payload TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS queues (
  name TEXT PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0,
  max_concurrency INTEGER,
  rate_limit INTEGER,
  rate_window_ms INTEGER,
  provider TEXT REFERENCES providers(name),
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS workers (
  id TEXT PRIMARY KEY,
  hostname TEXT,
  queues TEXT,
  last_heartbeat TEXT NOT NULL,
  started_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS schedules (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  queue TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  payload TEXT NOT NULL,
  unique_key TEXT,
  max_retries INTEGER NOT NULL DEFAULT 3,
  last_run TEXT,
  next_run TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS job_usage (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  queue TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  phase TEXT NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_creation_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  model TEXT,
  provider TEXT,
  cost_usd REAL NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS budgets (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL,
  target TEXT NOT NULL,
  daily_usd REAL,
  per_job_usd REAL,
  on_exceed TEXT NOT NULL DEFAULT 'hold',
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS job_iterations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  status TEXT NOT NULL,
  checkpoint TEXT,
  trace TEXT,
  hold_reason TEXT,
  result TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_creation_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  model TEXT,
  provider TEXT,
  cost_usd REAL NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS job_scores (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  dimension TEXT NOT NULL,
  value REAL NOT NULL,
  scorer TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS providers (
  name TEXT PRIMARY KEY,
  rpm_limit INTEGER,
  input_tpm_limit INTEGER,
  output_tpm_limit INTEGER,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS approval_policies (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT 'any',
  enabled INTEGER NOT NULL DEFAULT 1,
  queue TEXT,
  tag_key TEXT,
  tag_value TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS webhooks (
  id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  retry_limit INTEGER NOT NULL DEFAULT 3,
  created_at TEXT NOT NULL,
  last_status_code INTEGER,
  last_error TEXT,
  last_delivery_at TEXT
);
CREATE TABLE IF NOT EXISTS api_keys (
  key_hash TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  namespace TEXT NOT NULL DEFAULT 'default',
  role TEXT NOT NULL DEFAULT 'readonly',
  queue_scope TEXT,
  enabled INTEGER NOT NULL DEFAULT 1,
  expires_at TEXT,
  created_at TEXT NOT NULL,
  last_used_at TEXT
);
CREATE TABLE IF NOT EXISTS auth_roles (
  name TEXT PRIMARY KEY,
  permissions TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT
);
CREATE TABLE IF NOT EXISTS auth_key_roles (
  key_hash TEXT NOT NULL,
  role_name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY(key_hash, role_name)
);
CREATE TABLE IF NOT EXISTS audit_logs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace TEXT NOT NULL DEFAULT 'default',
  principal TEXT,
  role TEXT,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status_code INTEGER NOT NULL,
  metadata TEXT,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS namespaces (
  name TEXT PRIMARY KEY,
  created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sso_settings (
  id TEXT PRIMARY KEY DEFAULT 'singleton',
  provider TEXT NOT NULL DEFAULT '',
  oidc_issuer_url TEXT NOT NULL DEFAULT '',
  oidc_client_id TEXT NOT NULL DEFAULT '',
  saml_enabled INTEGER NOT NULL DEFAULT 0,
  oidc_group_claim TEXT NOT NULL DEFAULT 'groups',
  group_role_mappings TEXT NOT NULL DEFAULT '{}',
  updated_at TEXT NOT NULL
);
)sql";

constexpr const char* kOwnTables = R"sql(
CREATE INDEX IF NOT EXISTS idx_job_errors_job ON job_errors(job_id);
CREATE TABLE IF NOT EXISTS view_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  store TEXT NOT NULL,
  event INTEGER NOT NULL,
  boot TEXT NOT NULL,
  clean INTEGER NOT NULL
);
)sql";

// The index has the words that payload and tags say, not those of their JSON, in which a word may
// be escaped: "say\nhi". It has no copy of the texts: its columns are read from jobs, by rowid. It
// must be told the old texts to forget them, which is what its 'delete' command is for. Most
// changes of a job leave its texts alone and cost the index nothing.
//
// FTS5's own 'rebuild' and 'integrity-check' with rank 1 would take the words from jobs as they are
// there: neither is of use here.
constexpr const char* kFullText = R"sql(
CREATE VIRTUAL TABLE IF NOT EXISTS jobs_fts USING fts5(id, queue, payload, tags, content=jobs);
CREATE TRIGGER IF NOT EXISTS jobs_fts_insert AFTER INSERT ON jobs BEGIN
  INSERT INTO jobs_fts(rowid, id, queue, payload, tags)
    VALUES (new.rowid, new.id, new.queue, decoded_text(new.payload), decoded_text(new.tags));
END;
CREATE TRIGGER IF NOT EXISTS jobs_fts_delete AFTER DELETE ON jobs BEGIN
  INSERT INTO jobs_fts(jobs_fts, rowid, id, queue, payload, tags)
    VALUES ('delete', old.rowid, old.id, old.queue, decoded_text(old.payload),
            decoded_text(old.tags));
END;
CREATE TRIGGER IF NOT EXISTS jobs_fts_update AFTER UPDATE OF queue, payload, tags ON jobs
WHEN old.queue IS NOT new.queue OR old.payload IS NOT new.payload OR old.tags IS NOT new.tags BEGIN
  INSERT INTO jobs_fts(jobs_fts, rowid, id, queue, payload, tags)
    VALUES ('delete', old.rowid, old.id, old.queue, decoded_text(old.payload),
            decoded_text(old.tags));
  INSERT INTO jobs_fts(rowid, id, queue, payload, tags)
    VALUES (new.rowid, new.id, new.queue, decoded_text(new.payload), decoded_text(new.tags));
END;
)sql";

}  // namespace

// The file may be lost at any time and is built again, so it is never synced while in use.
//
// Foreign keys are not enforced by the one that writes: jobs.parent_id names a job that may have
// been removed already, or never existed, and its child must be found all the same. What goes with
// a job (job_errors) is removed by name.
Result<void> ConfigureWriter(Database& database) {
  return database.Execute(
      "PRAGMA journal_mode = WAL;"
      "PRAGMA synchronous = OFF;"
      "PRAGMA foreign_keys = OFF;"
      "PRAGMA temp_store = MEMORY;"
      "PRAGMA cache_size = -32768;"          // 32 MiB
      "PRAGMA wal_autocheckpoint = 4096;");  // pages: 16 MiB
}

Result<void> CreateSchema(Database& database) {
  return database.Execute(fmt::format("BEGIN;{}{}{}COMMIT;", kTables, kOwnTables, kFullText));
}

}  // namespace cairn::view

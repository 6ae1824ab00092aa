#include "jobs/layer_dump.h"

#include <boost/json/parse.hpp>
#include <memory>
#include <utility>

#include "jobs/dump/dump.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"

namespace cairn::jobs {
namespace {

constexpr std::string_view kRestoredSchema =
    R"({"type":"object","required":["status","lines","jobs","verify"],"properties":{
        "status":{"type":"string","enum":["restored"]},
        "lines":{"type":"integer"},"jobs":{"type":"integer"},
        "verify":{"type":"object","required":["sound","problems"],"additionalProperties":true,
          "description":"As GET /api/v1/admin/verify has it, after the restore.","properties":{
          "sound":{"type":"boolean"},"problems":{"type":"array","items":{"type":"string"}}}}}})";

class QueueDump final : public house::Dump {
 public:
  explicit QueueDump(jobs::Dump dump) : dump_(std::move(dump)) {}
  Result<std::string> Next() override { return dump_.Next(); }

 private:
  jobs::Dump dump_;
};

Result<std::unique_ptr<house::Dump>> BeginDump(store::Store& store) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<store::Snapshot> snapshot, store.Read());
  CAIRN_RETURN_IF_ERROR(store.Durable(snapshot->commit()));
  CAIRN_ASSIGN_OR_RETURN(Dump dump, Dump::Begin(std::move(snapshot)));
  return std::unique_ptr<house::Dump>(std::make_unique<QueueDump>(std::move(dump)));
}

Result<house::RestoreProgress> TakeLines(store::Store& store, int64_t first_line,
                                         std::string_view lines) {
  CAIRN_ASSIGN_OR_RETURN(const RestoreReport report, Restore(store, first_line, lines));
  house::RestoreProgress progress{.finished = report.finished, .lines = report.lines};
  if (report.finished) {
    progress.summary = {{"jobs", report.jobs},
                        {"verify", boost::json::parse(report.verify.ToJson())}};
  }
  return progress;
}

}  // namespace

house::LayerDump MakeLayerDump() {
  return {.begin = BeginDump,
          .restore = TakeLines,
          .backup_path = "/api/v1/admin/backup",
          .backup_permission = "jobs.backup",
          .backup_summary =
              "All jobs, queues, batches, schedules and webhooks, secrets included, "
              "as of one moment: lines of JSON.",
          .restore_path = "/api/v1/admin/restore",
          .restore_permission = "jobs.restore",
          .restore_summary =
              "Takes the lines of a backup, all at once or in parts, into a queue "
              "that is empty; with the last line it is as it was.",
          .restored_schema = kRestoredSchema,
          .error_reply = ErrorReply,
          .error_schema = kErrorSchema};
}

}  // namespace cairn::jobs

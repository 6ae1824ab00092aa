#include "functions/model/records.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::functions {
namespace {

TEST(RecordsTest, AFunctionIsWrittenAsTheSeedSays) {
  const Function function{.tenant = "t_abc123",
                          .ns = "payments",
                          .name = "reconcile",
                          .created_at_ms = 1'730'000'000'000};
  EXPECT_EQ(Encode(function),
            R"({"tenant":"t_abc123","namespace":"payments","name":"reconcile","runtime":"cs-js",)"
            R"("entry":"function.js","handler":"default","created_at_ms":1730000000000,)"
            R"("deleted_at_ms":null,"enabled":true})");
  EXPECT_EQ(*DecodeFunction(Encode(function)), function);
}

TEST(RecordsTest, RecordsOfTheSeedCanBeRead) {
  const auto function = DecodeFunction(
      R"({"tenant":"t_abc123","namespace":"payments","name":"reconcile","runtime":"cs-js",)"
      R"("entry":"function.js","handler":"default","created_at_ms":1730000000000,)"
      R"("deleted_at_ms":null})");
  EXPECT_TRUE(function->enabled);
  const auto alias = DecodeAlias(R"({"alias":"prod","version":17,"updated_at_ms":1730000000000})");
  EXPECT_EQ(alias->target, (Target{17, {}}));
  EXPECT_EQ(Encode(*alias), R"({"alias":"prod","version":17,"updated_at_ms":1730000000000})");
  const auto schedule = DecodeSchedule(
      R"({"name":"reconcile_30s","every_seconds":30,"overlap_policy":"skip",)"
      R"("ref":{"function":"reconcile","alias":"prod"},"payload":{"source":"schedule"},)"
      R"("enabled":true,"created_at_ms":1730000000000})");
  EXPECT_EQ(schedule->every_seconds, 30);
  EXPECT_EQ(schedule->payload, R"({"source":"schedule"})");
  const auto binding = DecodeWorkerBinding(
      R"({"name":"payments-activities","domain":"payments","tasklist":"payments-activities",)"
      R"("worker_id":"cs-payments-01","activity_map":{"SousInvokeActivity":)"
      R"({"function":"reconcile","alias":"prod"}},"pollers":{"activity":8},)"
      R"("limits":{"max_inflight_tasks":256},"enabled":true})");
  EXPECT_EQ(binding->pollers, 8);
  EXPECT_EQ(binding->activity_map.front().second.alias, "prod");
  const auto activation = DecodeActivation(
      R"({"activation_id":"uuid","tenant":"t_abc123","namespace":"payments",)"
      R"("function":"reconcile","ref":{"alias":"prod","version":17},"trigger":{"type":"http"},)"
      R"("status":"success","start_ms":1730000000000,"end_ms":1730000000012,"duration_ms":12,)"
      R"("result_truncated":false,"error":null})");
  EXPECT_EQ(activation->status, Status::kSuccess);
  EXPECT_EQ(activation->ref, (Ref{"reconcile", "prod", 17}));
}

TEST(RecordsTest, ADraftKeepsEveryByteOfItsFiles) {
  const Draft draft{.draft_id = "drf_01HZX",
                    .sha256 = "00ff",
                    .files = {{"function.js", Bytes("\x00\xFF\n", 3)}, {"manifest.json", "{}"}},
                    .created_at_ms = 1,
                    .expires_at_ms = 2};
  EXPECT_EQ(Encode(draft),
            R"({"draft_id":"drf_01HZX","sha256":"00ff","files":{"function.js":"AP8K",)"
            R"("manifest.json":"e30="},"created_at_ms":1,"expires_at_ms":2,"consumed":false})");
  EXPECT_EQ(*DecodeDraft(Encode(draft)), draft);
}

TEST(RecordsTest, AVersionKeepsItsConfig) {
  VersionMeta meta{.version = 17, .sha256 = "ab", .published_at_ms = 3};
  meta.config.capabilities.kv_prefixes = {"a", "\"b\""};
  meta.config.roles.cadence = std::vector<std::string>();
  meta.config.env_names = {"TOKEN"};
  meta.config.stream_bytes = kMinStreamBytes;
  meta.config.stream_idle_ms = kMinStreamIdleMs;
  meta.config.isolation = Isolation::kVersion;
  EXPECT_EQ(*DecodeVersionMeta(Encode(meta)), meta);
}

TEST(RecordsTest, AnAliasKeepsItsWeightsHistoryAndShift) {
  const Alias alias{.alias = "prod",
                    .target = {17, Target::Weighted{18, 10}},
                    .updated_at_ms = 5,
                    .min_warm = 2,
                    .history = {{{16, Target::Weighted{17, 50}}, 4}, {{16, {}}, 3}},
                    .shift = Shift{.id = "s",
                                   .from = 17,
                                   .to = 18,
                                   .step_percent = 10,
                                   .interval_seconds = 60,
                                   .max_error_rate = 0.05,
                                   .step = 1,
                                   .started_at_ms = 5,
                                   .next_step_at_ms = 60'005},
                    .last_shift = ShiftEnd{16, 17, "rolled_back", "too many errors", 4}};
  EXPECT_TRUE(Encode(alias).starts_with(
      R"({"alias":"prod","version":17,"updated_at_ms":5,"weights":[{"version":18,"weight":10}],)"));
  EXPECT_EQ(*DecodeAlias(Encode(alias)), alias);
}

TEST(RecordsTest, AnActivationKeepsAllItsMembers) {
  Activation activation{.activation_id = "2f0c",
                        .tenant = "t_abc123",
                        .ns = "payments",
                        .ref = {"reconcile", "prod", std::nullopt},
                        .trigger = {TriggerType::kSchedule, R"({"tick_seq":1})"},
                        .request_id = "req_01HZX"};
  EXPECT_EQ(*DecodeActivation(Encode(activation)), activation);
  activation.status = Status::kError;
  activation.start_ms = 1;
  activation.end_ms = 4;
  activation.duration_ms = 3;
  activation.result_truncated = true;
  activation.error = FunctionError{"Exception", "no", "at f"};
  activation.resolved_version = 9;
  activation.result = FunctionResult{.status_code = 201, .headers = {{"", "x"}}, .body = "b"};
  activation.usage = Usage{7, 8, true};
  activation.limit_hit = "memory";
  activation.retries = 1;
  activation.stream = StreamedAnswer{.bytes = 12, .end = "client_left"};
  EXPECT_EQ(*DecodeActivation(Encode(activation)), activation);
}

TEST(RecordsTest, OtherRecordsKeepAllTheirMembers) {
  const Schedule cron{.name = "nightly",
                      .cron = "0 3 * * *",
                      .time_zone = "Europe/Berlin",
                      .overlap = Overlap::kParallel,
                      .ref = {"reconcile", "", 3},
                      .payload = "[1]",
                      .enabled = false,
                      .created_at_ms = 9,
                      .tenant = "t_abc123",
                      .ns = "payments"};
  EXPECT_EQ(*DecodeSchedule(Encode(cron)), cron);
  const WorkerBinding binding{.name = "acts",
                              .domain = "d",
                              .tasklist = "l",
                              .worker_id = "w",
                              .activity_map = {{"A", {"reconcile", "prod", std::nullopt}}},
                              .pollers = 3,
                              .max_inflight_tasks = 4,
                              .enabled = false,
                              .tenant = "t_abc123",
                              .ns = "payments"};
  EXPECT_EQ(*DecodeWorkerBinding(Encode(binding)), binding);
  const ShiftOutcomes outcomes{"s", 18, 2, 100, 7};
  EXPECT_EQ(*DecodeShiftOutcomes(Encode(outcomes)), outcomes);
}

TEST(RecordsTest, MembersOfANewerServerAreIgnored) {
  const auto alias = DecodeAlias(
      R"({"colour":"red","alias":"prod","version":17,"updated_at_ms":1,"more":{"a":[]}})");
  EXPECT_EQ(alias->target.version, 17U);
}

TEST(RecordsTest, WhatCannotBeReadSaysWhy) {
  const Error error = DecodeAlias(R"({"alias":"prod","version":"17"})").error();
  EXPECT_TRUE(IsRefusal(error, Code::kStoreReadFailed));
  EXPECT_EQ(RefusalText(error).substr(0, 42), "an alias cannot be read: version must be a");
  EXPECT_TRUE(IsRefusal(DecodeFunction("").error(), Code::kStoreReadFailed));
  EXPECT_TRUE(IsRefusal(DecodeDraft(R"({"draft_id":"d","sha256":"s","files":{"a":"!"}})").error(),
                        Code::kStoreReadFailed));
}

}  // namespace
}  // namespace cairn::functions

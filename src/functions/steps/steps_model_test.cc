// Random programs of steps, sleeps, waits and signals, whose runs die anywhere, against what a
// trivial interpreter says that they do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "functions/testing/step_runner.h"

namespace cairn::functions {
namespace {

using testing::StepRunner;

// Interprets the program that is its event. Each branch keeps what its steps have done in a key of
// its own; every attempt of a step writes, and those that fail must leave nothing.
constexpr const char* kInterpreter = R"JS(
export default async function (event, ctx) {
  async function perform(op, branch, out) {
    if (op.op === 'sleep') {
      await ctx.sleep(op.ms);
    } else if (op.op === 'wait') {
      try {
        out.push(await ctx.waitForEvent(op.name, op.timeout === undefined ? {} : { timeout: op.timeout }));
      } catch (error) {
        out.push(error.name);
      }
    } else if (op.op === 'all') {
      out.push(...(await ctx.all(op.branches.map((ops, i) => sequence(ops, `${branch}.${i}`)))));
    } else {
      const run = async ({ cs, attempt }) => {
        const done = (await cs.kv.get(`a:${branch}`)) ?? [];
        await cs.kv.set(`a:${branch}`, [...done, op.name]);
        await cs.jobs.enqueue('work', { name: op.name });
        if (attempt <= op.fails) throw new Error('not yet');
        return `${op.name}@${attempt}`;
      };
      try {
        out.push(await ctx.step(op.name, run, { retries: op.retries, backoff: { initialMs: 50 } }));
      } catch (error) {
        out.push(`${op.name}: ${error.message}`);
      }
    }
  }
  async function sequence(ops, branch) {
    const out = [];
    for (const op of ops) await perform(op, branch, out);
    return out.join(',');
  }
  return { body: await sequence(event.program, 'b') };
}
)JS";

// A program as JSON, and what comes of it.
class Programs {
 public:
  explicit Programs(std::mt19937& random) : random_(random) {}

  struct Wait {
    std::string name;
    bool early = false;  // the event is sent before anything runs
    bool sent = false;
  };
  struct Program {
    std::string json;
    std::string transcript;
    std::map<std::string, std::vector<std::string>> done;  // names of steps by branch
    size_t steps = 0;                                      // that were done
    std::vector<Wait> waits;                               // whose event comes
  };

  Program Make() {
    program_ = {};
    names_ = 0;
    std::string json;
    program_.transcript = Sequence("b", 2, json);
    program_.json = fmt::format(R"({{"program":{}}})", json);
    return program_;
  }

 private:
  int Pick(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  std::string Sequence(const std::string& branch, int depth, std::string& json) {
    const int count = 1 + Pick(depth == 2 ? 6 : 3);
    std::vector<std::string> out;
    json += '[';
    for (int i = 0; i < count; ++i) {
      if (i > 0) json += ',';
      Operation(branch, depth, json, out);
    }
    json += ']';
    return fmt::format("{}", fmt::join(out, ","));
  }

  void Operation(const std::string& branch, int depth, std::string& json,
                 std::vector<std::string>& out) {
    const int kind = Pick(depth > 0 ? 10 : 8);
    const std::string name = fmt::format("n{}", names_++);
    if (kind < 5) {
      const int fails = Pick(3) == 0 ? Pick(4) : 0;
      const int retries = Pick(4);
      json += fmt::format(R"({{"op":"step","name":"{}","fails":{},"retries":{}}})", name, fails,
                          retries);
      if (fails > retries) {
        out.push_back(name + ": not yet");
        return;
      }
      out.push_back(fmt::format("{}@{}", name, fails + 1));
      program_.done[branch].push_back(name);
      ++program_.steps;
    } else if (kind < 6) {
      json += fmt::format(R"({{"op":"sleep","ms":{}}})", Pick(3) * Pick(5'000));
    } else if (kind < 7) {
      const bool bounded = Pick(2) == 0;
      json += fmt::format(R"({{"op":"wait","name":"{}"{}}})", name,
                          bounded ? R"(,"timeout":864000000)" : "");
      out.push_back("of " + name);
      program_.waits.push_back({.name = name, .early = Pick(2) == 0});
    } else if (kind < 8) {
      json += fmt::format(R"({{"op":"wait","name":"{}","timeout":{}}})", name, Pick(5'000));
      out.push_back("TimeoutError");
    } else {
      json += R"({"op":"all","branches":[)";
      const int branches = 1 + Pick(3);
      for (int i = 0; i < branches; ++i) {
        if (i > 0) json += ',';
        out.push_back(Sequence(fmt::format("{}.{}", branch, i), depth - 1, json));
      }
      json += "]}";
    }
  }

  std::mt19937& random_;
  Program program_;
  int names_ = 0;
};

std::string ListText(const std::vector<std::string>& names) {
  if (names.empty()) return "null";
  return fmt::format(R"(["{}"])", fmt::join(names, R"(",")"));
}

// CAIRN_STEPS_MODEL_PROGRAMS=2000 makes it a long one, CAIRN_STEPS_MODEL_SEED another one.
int FromEnvironment(const char* name, int otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::atoi(given);
}

struct Tally {
  int programs = 0;
  int runs = 0;
  int deaths = 0;
  int suspensions = 0;
  size_t steps = 0;
};

// Sends events whose waits have begun, and early ones, each some time or other. Whether one is
// still to be sent: then time must not move on to where its wait would end.
bool SendSome(StepRunner& runner, const std::string& id, Programs::Program& program,
              std::mt19937& random) {
  bool more = false;
  const History history = runner.Steps(id);
  for (Programs::Wait& wait : program.waits) {
    const bool begun = std::ranges::any_of(history.steps, [&](const auto& one) {
      return one.second.kind == StepKind::kEvent && one.second.name == wait.name;
    });
    if (wait.sent || !(wait.early || begun)) continue;
    if (random() % 3 == 0) {
      more = true;
      continue;
    }
    const std::string said = runner.Signal(id, wait.name, fmt::format(R"("of {}")", wait.name));
    EXPECT_TRUE(said.starts_with("ok")) << said;
    wait.sent = true;
  }
  return more;
}

void RunOne(StepRunner& runner, Programs::Program program, std::mt19937& random, Tally& tally) {
  // A message whose lease lapses more often than that in a row is given up (max_reclaims).
  constexpr int kMaxLapses = 5;
  int lapses = 0;
  int deaths = 0;
  const std::string id = runner.Invoke(program.json);
  for (int turn = 0; turn < 2'000; ++turn) {
    if (IsTerminal(runner.Get(id).status)) break;
    const bool more_events = SendSome(runner, id, program, random);
    std::optional<StepRunner::Death> death;
    if (lapses < kMaxLapses && random() % 2 == 0) {
      death = StepRunner::Death{.at_call = 1 + static_cast<int>(random() % 12),
                                .answered = random() % 2 == 0};
    }
    switch (runner.RunOnce(death)) {
      case StepRunner::End::kNothingToRun:
        if (!more_events) runner.AdvanceToNext(id);
        break;
      case StepRunner::End::kDied:
        ++deaths;
        ++lapses;
        ++tally.runs;
        runner.server().Advance(StepRunner::kLeaseMs + 1'000);
        // Whoever is dead for the server has nothing to say any more.
        EXPECT_FALSE(
            runner
                .AskLast("steps.done",
                         R"({"position":999,"name":"late","attempt":1,"duration_ms":0,"value":1})")
                .ok());
        break;
      case StepRunner::End::kSuspended:
        lapses = 0;
        ++tally.suspensions;
        ++tally.runs;
        break;
      case StepRunner::End::kEnded:
        ++tally.runs;
        break;
    }
  }
  tally.deaths += deaths;
  tally.steps += program.steps;
  const Activation ended = runner.Get(id);
  ASSERT_EQ(ended.status, Status::kSuccess)
      << program.json << "\n"
      << (ended.error ? ended.error->type + ": " + ended.error->message : "");
  EXPECT_NE(ended.result->body.find(fmt::format(R"("body":"{}")", program.transcript)),
            std::string::npos)
      << ended.result->body << "\nis not\n"
      << program.transcript << "\n"
      << program.json;
  for (const auto& [branch, names] : program.done) {
    EXPECT_EQ(runner.Kv("a:" + branch), ListText(names)) << program.json;
  }
}

TEST(StepsModelTest, ProgramsDoWhatTheirInterpreterSaysWhereverTheirRunsDie) {
  const int programs = FromEnvironment("CAIRN_STEPS_MODEL_PROGRAMS", 40);
  const int seed = FromEnvironment("CAIRN_STEPS_MODEL_SEED", 20);
  Tally tally;
  for (int i = 0; i < programs && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("seed {}", seed + i));
    std::mt19937 random(static_cast<unsigned>(seed + i));
    StepRunner runner(kInterpreter);
    const Programs::Program program = Programs(random).Make();
    RunOne(runner, program, random, tally);
    EXPECT_EQ(runner.JobsIn("work"), program.steps) << program.json;
    runner.server().ExpectSound();
    ++tally.programs;
  }
  fmt::print("{} programs, {} steps done, each once; {} runs, {} of them died, {} were suspended\n",
             tally.programs, tally.steps, tally.runs, tally.deaths, tally.suspensions);
}

}  // namespace
}  // namespace cairn::functions

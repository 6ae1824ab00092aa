// A small layer that has one of everything, in a server made of a list of layers: all of it works,
// and two layers that claim the same are refused.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "house/assembly.h"
#include "house/units.h"
#include "net/http/client.h"
#include "net/resp/client.h"
#include "store/rocks/open.h"
#include "tests/support/await.h"
#include "tests/support/temp_directory.h"

namespace cairn::house {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint8_t kTimerToy = 250;
constexpr store::Key kValue{store::Space::kActors, "toy"};
constexpr store::Key kFired{store::Space::kActors, "toy fired"};

Result<void> Set(doors::CommandContext& context) {
  context.transaction.Put(kValue, context.args[1]);
  context.transaction.SetTimer(context.now(), kTimerToy, "toy", context.args[1]);
  context.reply.Ok();
  return {};
}

Result<void> Get(doors::CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, context.transaction.Get(kValue));
  context.reply.Bulk(value.value_or(""));
  return {};
}

void AddCommands(doors::Instance& instance) {
  const auto everything = [](doors::Args, uint8_t, store::Scopes& scopes) {
    scopes = store::Scopes::Exclusive();
  };
  instance.commands().Add({.name = "toy.set",
                           .arity = 2,
                           .flags = doors::kWrite,
                           .add_scopes = everything,
                           .group = "toy",
                           .since = "0.1.0",
                           .summary = "Sets the toy.",
                           .syntax = "value",
                           .run = Set});
  instance.commands().Add({.name = "toy.get",
                           .arity = 1,
                           .flags = doors::kReadOnly,
                           .add_scopes = everything,
                           .group = "toy",
                           .since = "0.1.0",
                           .summary = "Shows the toy.",
                           .run = Get});
}

// Notes that it has fired.
class ToyTimers final : public store::TimerHandler {
 public:
  void AddScopes(const store::Timer& /*timer*/, store::Scopes& scopes) const override {
    scopes = store::Scopes::Exclusive();
  }
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override {
    transaction.Put(kFired, timer.payload);
    return {};
  }
};

// The value must not be "broken".
Result<void> VerifyToy(store::Store& store, Verification& verification) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, snapshot->Get(kValue));
  if (value && !verification.Read()) return {};
  if (value == "broken") verification.Problem("the toy is broken");
  return {};
}

// `cairn toy get`: asks the server.
int RunToy(const VerbCall& call) {
  ApiClient client(*call.server);
  const Result<boost::json::value> answer = client.Get("/v1/toy");
  const bool same = answer.ok() && answer->at("value") == boost::json::string(call.Text("expect"));
  return same ? kExitOk : kExitFailure;
}

class ToyLayer final : public Layer {
 public:
  std::string_view name() const override { return "toy"; }

  void Declare(Declarations& declarations) const override {
    declarations.OwnSpace(store::Space::kActors);
    declarations.AddPermission({.name = "toy.play"});
    declarations.AddResourceKind("toy");
    declarations.AddVerify(VerifyToy);
    declarations.AddSetting(SizeSetting({"toy.size", "How large it is."}, 1024, 1, 1 << 20));
    declarations.AddVerb({.name = "toy",
                          .description = "Play",
                          .actions = {{"get"}, {"throw", "FAR", 1, 1}},
                          .options = {{"expect", "TEXT", "what it should be"}},
                          .run = RunToy});
  }

  void Configure(const Configuration& configuration) override {
    size_ = *ParseSize(configuration.Text("toy.size"));
  }

  void Register(Registry& registry) override {
    const Parts& parts = registry.parts();
    AddCommands(parts.instance);
    parts.routes.Add(
        {.method = "GET",
         .path = "/v1/toy",
         .permission = "toy.play",
         .touches = doors::Touches::Only("toy"),
         .summary = "Shows the toy.",
         .responses = {{200, "It."}},
         .handler = [&store = parts.route_store](const doors::RouteCall&) { return Show(store); }});
    registry.AddTimer(kTimerToy, timers_);
    registry.AddMetrics("cairn_toy", [this](MetricsWriter& writer) {
      writer.Gauge("cairn_toy_size", "How large it is.", static_cast<double>(size_));
    });
  }

  Result<void> Start() override {
    started_ = true;
    return {};
  }
  void Stop() override { started_ = false; }

  uint64_t size() const { return size_; }
  bool started() const { return started_; }

 private:
  static boost::asio::awaitable<Result<net::HttpReply>> Show(doors::RouteStore& store) {
    std::string value;
    const doors::RouteStore::Task body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> found, transaction.Get(kValue));
      value = found.value_or("");
      return {};
    };
    const Result<void> done = co_await store.Read(store::Scopes::Exclusive(), body);
    if (!done.ok()) co_return done.error();
    co_return net::HttpReply(
        net::HttpResponse::Json(200, fmt::format(R"({{"value":"{}"}})", value)));
  }

  uint64_t size_ = 0;
  bool started_ = false;
  ToyTimers timers_;
};

class FigureList final : public MetricsWriter {
 public:
  void Counter(std::string_view name, std::string_view /*help*/, double value,
               Labels /*labels*/) override {
    figures.emplace_back(name, value);
  }
  void Gauge(std::string_view name, std::string_view help, double value, Labels labels) override {
    Counter(name, help, value, std::move(labels));
  }
  void Histogram(std::string_view name, std::string_view help, const Distribution& distribution,
                 Labels labels) override {
    Counter(name, help, distribution.sum, std::move(labels));
  }
  std::vector<std::pair<std::string, double>> figures;
};

Layers ListOf(std::unique_ptr<Layer> first, std::unique_ptr<Layer> second = nullptr) {
  Layers layers;
  layers.push_back(std::move(first));
  if (second != nullptr) layers.push_back(std::move(second));
  return layers;
}

class StoreOfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    auto store = store::rocks::Open(options, clock_, Log::Silent());
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
  }

  ::cairn::testing::TempDirectory directory_;
  SystemClock clock_;
  SeededRandom random_{7};
  std::unique_ptr<store::Store> store_;
};

// A server whose only layer is the toy, with both doors open.
class ToyLayerTest : public StoreOfTest {
 protected:
  void SetUp() override {
    StoreOfTest::SetUp();
    auto toy = std::make_unique<ToyLayer>();
    toy_ = toy.get();
    AssemblyOptions options;
    options.configuration.settings = {{"toy.size", "2KiB"}};
    house_.emplace(std::move(options), ListOf(std::move(toy)), *store_, clock_, random_,
                   Log::Silent());
    resp_.emplace(net::RespServerOptions{}, house_->loops(), house_->instance().HandlerFactory(),
                  clock_, Log::Silent());
    const auto handlers = [this](net::Loop& loop) -> std::unique_ptr<net::HttpHandler> {
      return house_->WrapHttp(house_->routes().MakeHandler(loop));
    };
    http_.emplace(net::HttpServerOptions{}, house_->loops(), handlers, clock_, random_,
                  Log::Silent());
    house_->instance().Attach(*resp_);
    const Result<void> started = house_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    const Result<uint16_t> resp_port = resp_->Listen({"127.0.0.1", 0});
    const Result<uint16_t> http_port = http_->Listen({"127.0.0.1", 0});
    ASSERT_TRUE(resp_port.ok() && http_port.ok());
    http_address_ = {"127.0.0.1", *http_port};
    auto client = net::RespClient::Connect({"127.0.0.1", *resp_port});
    ASSERT_TRUE(client.ok()) << client.error().message;
    client_.emplace(*std::move(client));
  }

  void TearDown() override {
    if (house_) house_->Stop();
  }

  std::string Run(const std::vector<std::string>& args) {
    const auto reply = client_->Command(args);
    return reply.ok() ? reply->text : reply.error().message;
  }

  Bytes Stored(store::Key key) {
    const auto snapshot = store_->Read();
    EXPECT_TRUE(snapshot.ok());
    const auto value = (*snapshot)->Get(key);
    EXPECT_TRUE(value.ok());
    return value->value_or("");
  }

  const Verb& verb() const { return house_->declarations().verbs().front(); }

  VerbCall Call(const std::string& action) {
    VerbCall call = InitialCall(verb(), terminal_);
    call.action = action;
    call.server = ServerAccess{.url = {.tls = false, .address = http_address_}};
    return call;
  }

  ToyLayer* toy_ = nullptr;
  std::optional<Assembly> house_;
  std::optional<net::RespServer> resp_;
  std::optional<net::HttpServer> http_;
  net::Address http_address_;
  std::optional<net::RespClient> client_;
  const Terminal terminal_{Environment()};
};

TEST_F(ToyLayerTest, ItsCommandsAndItsRouteSeeTheSame) {
  EXPECT_EQ(Run({"TOY.SET", "red"}), "OK");
  EXPECT_EQ(Run({"TOY.GET"}), "red");
  net::HttpClient http(http_address_);
  const Result<net::HttpResponse> shown = http.Get("/v1/toy");
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(shown->body, R"({"value":"red"})");
}

TEST_F(ToyLayerTest, ItsTimerFires) {
  EXPECT_EQ(Run({"TOY.SET", "blue"}), "OK");
  cairn::testing::Await("the timer to fire", [&] { return Stored(kFired) == "blue"; });
}

TEST_F(ToyLayerTest, ItKnowsItsSettingAndItsMetricShowsIt) {
  EXPECT_EQ(toy_->size(), 2048U);
  ASSERT_THAT(house_->registry().metrics(), SizeIs(1));
  FigureList figures;
  house_->registry().metrics().front().source(figures);
  EXPECT_THAT(figures.figures, ElementsAre(std::pair<std::string, double>("cairn_toy_size", 2048)));
}

TEST_F(ToyLayerTest, ItsVerbAsksTheServer) {
  EXPECT_EQ(Run({"TOY.SET", "green"}), "OK");
  VerbCall call = Call("get");
  call.texts["expect"] = "green";
  EXPECT_EQ(RunVerb(verb(), call), kExitOk);
  call.texts["expect"] = "yellow";
  EXPECT_EQ(RunVerb(verb(), call), kExitFailure);
  EXPECT_EQ(verb().ActionsHelp(), "get, throw FAR");
}

TEST_F(ToyLayerTest, WhatTheRowDoesNotHaveIsWrongUsage) {
  EXPECT_EQ(RunVerb(verb(), Call("gett")), kExitUsage);
  EXPECT_EQ(RunVerb(verb(), Call("throw")), kExitUsage);  // how far is missing
}

TEST_F(ToyLayerTest, ItsCheckFindsWhatIsWrong) {
  std::vector<std::string> lines;
  const auto tell = [&](std::string line) {
    lines.push_back(std::move(line));
    return true;
  };
  const std::vector<LayerCheck>& checks = house_->declarations().checks();
  EXPECT_EQ(Run({"TOY.SET", "whole"}), "OK");
  EXPECT_EQ(*VerifyAll(*store_, checks, tell), true);
  EXPECT_EQ(Run({"TOY.SET", "broken"}), "OK");
  EXPECT_EQ(*VerifyAll(*store_, checks, tell), false);
  EXPECT_THAT(lines[2], HasSubstr("the toy is broken"));
}

TEST_F(ToyLayerTest, ItIsStartedAndStoppedOnce) {
  EXPECT_TRUE(toy_->started());
  house_->Stop();
  EXPECT_FALSE(toy_->started());
  house_->Stop();
}

// Without values that were set, the initial ones hold.
TEST(ConfigureTest, WhatIsNotSetIsAsTheRowSays) {
  auto toy = std::make_unique<ToyLayer>();
  const ToyLayer& layer = *toy;
  const Layers layers = ListOf(std::move(toy));
  ConfigureAll(layers, Declarations(layers), {});
  EXPECT_EQ(layer.size(), 1024U);
}

// --- Collisions ----------------------------------------------------------------------------------

// A layer that declares and registers what a test wants.
class Claimant final : public Layer {
 public:
  using Declaring = std::function<void(Declarations&)>;
  using Registering = std::function<void(Registry&)>;

  Claimant(std::string name, Declaring declare, Registering enroll = {})
      : name_(std::move(name)), declare_(std::move(declare)), register_(std::move(enroll)) {}

  std::string_view name() const override { return name_; }
  void Declare(Declarations& declarations) const override {
    if (declare_) declare_(declarations);
  }
  void Register(Registry& registry) override {
    if (register_) register_(registry);
  }

 private:
  const std::string name_;
  const Declaring declare_;
  const Registering register_;
};

// What is said of two layers, `one` and `two`, that declare alike.
std::string Collision(const Claimant::Declaring& declare) {
  const Layers layers = ListOf(std::make_unique<Claimant>("one", declare),
                               std::make_unique<Claimant>("two", declare));
  return Declarations(layers).collision().value_or(Error{}).message;
}

TEST(CollisionTest, WhatTwoLayersDeclareIsRefusedByName) {
  EXPECT_EQ(Collision({}), "");
  EXPECT_EQ(Collision([](Declarations& all) { all.OwnSpace(store::Space::kActors); }),
            "the layers one and two both claim the space actors");
  EXPECT_EQ(Collision([](Declarations& all) { all.AddPermission({.name = "toy.play"}); }),
            "the layers one and two both claim the permission toy.play");
  EXPECT_EQ(Collision([](Declarations& all) { all.AddResourceKind("toy"); }),
            "the layers one and two both claim the resource kind toy");
  EXPECT_EQ(Collision([](Declarations& all) { all.AddVerb({.name = "toy"}); }),
            "the layers one and two both claim the verb toy");
  EXPECT_EQ(Collision([](Declarations& all) {
              all.AddSetting(NameSetting({"toy.name", ""}));
            }),
            "the layers one and two both claim the setting --toy-name");
  const Layers twins = ListOf(std::make_unique<Claimant>("one", nullptr),
                              std::make_unique<Claimant>("one", nullptr));
  EXPECT_EQ(Declarations(twins).collision().value_or(Error{}).message,
            "the layers one and one both claim the name one");
}

TEST(CollisionTest, SettingsWhoseFlagsAreSpelledAlikeCollide) {
  const Layers layers =
      ListOf(std::make_unique<Claimant>("one",
                                        [](Declarations& all) {
                                          all.AddSetting(NameSetting({"a.b", ""}));
                                        }),
             std::make_unique<Claimant>("two", [](Declarations& all) {
               all.AddSetting(NameSetting({"a_b", ""}));
             }));
  EXPECT_EQ(Declarations(layers).collision().value_or(Error{}).message,
            "the layers one and two both claim the setting --a-b");
}

TEST(CollisionTest, WhatTheProgramHasIsNobodysElse) {
  const Reserved reserved{.flags = {"--data"}, .verbs = {"serve"}};
  const auto collision = [&](const Claimant::Declaring& declare) {
    const Layers layers = ListOf(std::make_unique<Claimant>("one", declare));
    return Declarations(layers, reserved).collision().value_or(Error{}).message;
  };
  EXPECT_EQ(collision([](Declarations& all) { all.AddVerb({.name = "serve"}); }),
            "the layers app and one both claim the verb serve");
  EXPECT_EQ(collision([](Declarations& all) {
              all.AddSetting(NameSetting({"data", ""}));
            }),
            "the layers app and one both claim the setting --data");
}

// What two layers register collides when the server is put together.
class RegistrationTest : public StoreOfTest {
 protected:
  std::string Refusal(const Claimant::Registering& enroll) {
    Assembly house({},
                   ListOf(std::make_unique<Claimant>("one", nullptr, enroll),
                          std::make_unique<Claimant>("two", nullptr, enroll)),
                   *store_, clock_, random_, Log::Silent());
    const Result<void> started = house.Start();
    return started.ok() ? "" : started.error().message;
  }
};

TEST_F(RegistrationTest, TheFirstLayerCanWaitForTheRoutesOfTheLast) {
  bool found = false;
  const auto look = [&](Registry& registry) {
    registry.WhenComplete([&found, &routes = registry.parts().routes] {
      for (size_t i = 0; i < routes.size(); ++i) found |= routes.row(i).path == "/v1/toy";
    });
  };
  Assembly house(
      {}, ListOf(std::make_unique<Claimant>("one", nullptr, look), std::make_unique<ToyLayer>()),
      *store_, clock_, random_, Log::Silent());
  EXPECT_TRUE(found);
}

TEST_F(RegistrationTest, ATimerKindBelongsToOneLayer) {
  ToyTimers timers;
  EXPECT_EQ(Refusal([&](Registry& registry) { registry.AddTimer(kTimerToy, timers); }),
            "the layers one and two both claim timer kind 250");
}

TEST_F(RegistrationTest, ARowTouchesWhatALayerHasDeclared) {
  const auto add = [](Registry& registry) {
    registry.parts().routes.Add(
        {.method = "GET",
         .path = "/v1/toy",
         .touches = doors::Touches::Only("doll"),
         .summary = "Shows the toy.",
         .responses = {{200, "It."}},
         .handler = [](const doors::RouteCall&) -> boost::asio::awaitable<Result<net::HttpReply>> {
           co_return net::HttpReply(net::HttpResponse::Empty(200));
         }});
  };
  Assembly house({}, ListOf(std::make_unique<Claimant>("one", nullptr, add)), *store_, clock_,
                 random_, Log::Silent());
  const Result<void> started = house.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message,
            "GET /v1/toy touches resources of the kind doll, which no layer declares");
}

TEST_F(RegistrationTest, AMetricPrefixBelongsToOneLayer) {
  EXPECT_EQ(Refusal([](Registry& registry) { registry.AddMetrics("cairn_toy", {}); }),
            "the layers one and two both claim metrics that begin with cairn_toy");
}

}  // namespace
}  // namespace cairn::house

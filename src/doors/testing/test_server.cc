#include "doors/testing/test_server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "store/rocks/open.h"
#include "tests/support/test_store.h"

namespace cairn::doors::testing {
namespace {

std::string TextOf(const Result<net::RespValue>& reply) {
  if (reply.ok()) return reply->ToString();
  ADD_FAILURE() << "no reply: " << reply.error().message;
  return "no reply";
}

}  // namespace

std::string TestClient::Run(std::initializer_list<std::string_view> args) {
  return TextOf(client_.Command(args));
}

std::string TestClient::Run(const std::vector<std::string>& args) {
  return TextOf(client_.Command(args));
}

net::RespValue TestClient::RunValue(std::initializer_list<std::string_view> args) {
  Result<net::RespValue> reply = client_.Command(args);
  EXPECT_TRUE(reply.ok());
  return reply.ok() ? *std::move(reply) : net::RespValue();
}

void TestClient::Send(std::initializer_list<std::string_view> args) {
  const Result<void> sent = client_.Send(args);
  EXPECT_TRUE(sent.ok());
}

std::string TestClient::Receive() { return TextOf(client_.Receive()); }

TestServer::TestServer(TestServerOptions options) : options_(std::move(options)) {
  directory_ = (std::filesystem::temp_directory_path() / "cairn-test-XXXXXX").string();
  CAIRN_CHECK(mkdtemp(directory_.data()) != nullptr, "{}", directory_);
  Start();
}

TestServer::~TestServer() {
  Stop();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void TestServer::Start() {
  store::rocks::Options store_options;
  store_options.directory = directory_ + "/data";
  store_options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
  store_options.log_pool = false;
  store_options.durability = store::Durability::kOs;
  auto store = cairn::testing::OpenTestStore(store_options, clock_);
  CAIRN_CHECK(store.ok(), "{}", store.error().message);
  store_ = std::make_unique<GatedStore>(*std::move(store));
  auto buffers = std::make_shared<net::BufferBudget>(options_.buffer_bytes);
  instance_ = std::make_unique<Instance>(InstanceOptions{.password = options_.password,
                                                         .pool_threads = 2,
                                                         .buffers = buffers,
                                                         .reply_bytes = options_.reply_bytes},
                                         *store_, clock_, random_, Log::Silent());
  loops_ = std::make_unique<net::LoopGroup>(options_.loops);
  routes_ =
      std::make_unique<RouteStore>(instance_->traffic().turns, *loops_, instance_->pools().store);
  AddConnectionCommands(*instance_);
  if (options_.add_commands) options_.add_commands(*instance_);
  if (options_.add_coroutine_commands) options_.add_coroutine_commands(*instance_, *routes_);
  net::RespServerOptions server_options;
  server_options.budget = std::move(buffers);
  server_ = std::make_unique<net::RespServer>(server_options, *loops_, instance_->HandlerFactory(),
                                              clock_, Log::Silent());
  instance_->Attach(*server_);
  // Some settings that are stored are the server's.
  const Result<void> loaded = instance_->Load();
  CAIRN_CHECK(loaded.ok(), "{}", loaded.error().message);
  loops_->Start();
  const Result<uint16_t> port = server_->Listen({"127.0.0.1", 0});
  CAIRN_CHECK(port.ok(), "{}", port.error().message);
  port_ = *port;
}

void TestServer::Stop() {
  client_.reset();
  loops_->Stop();
  server_.reset();
  // What coroutines have left with the pool hands its result to a loop.
  instance_->pools().Stop();
  routes_.reset();
  loops_.reset();
  instance_.reset();
  store_.reset();
}

void TestServer::Restart() {
  Stop();
  Start();
}

TestClient TestServer::Connect() {
  Result<net::RespClient> client = net::RespClient::Connect({"127.0.0.1", port_});
  CAIRN_CHECK(client.ok(), "{}", client.error().message);
  return TestClient(*std::move(client));
}

TestClient& TestServer::kept_client() {
  if (!client_) client_ = std::make_unique<TestClient>(Connect());
  return *client_;
}

std::string TestServer::Run(std::initializer_list<std::string_view> args) {
  return kept_client().Run(args);
}

std::string TestServer::Run(const std::vector<std::string>& args) {
  return kept_client().Run(args);
}

}  // namespace cairn::doors::testing

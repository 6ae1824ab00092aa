// Functions that attack, run by the real binary: whatever their JavaScript tries costs their own
// activation. What native code could do inside the sandbox is tried in
// src/functions/child/sandbox_test.cc, what it could say to the server in
// src/functions/pool/child_link_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = 1024L * 1024;

// Runs the text it is given as the body of an async function.
constexpr std::string_view kAttacker = R"(
  const AsyncFunction = (async () => {}).constructor;
  export default (event, ctx) => new AsyncFunction('event', 'ctx', event.code)(event, ctx);)";

// One activation, as its record tells it.
struct Told {
  std::string status;
  std::string type;     // of the error
  std::string message;  // of the error
  std::string body;     // of the result
  std::string limit_hit;
  int64_t peak_memory = 0;
  bool truncated = false;
  std::string log;
  std::string text;  // the whole record
};

class FunctionsAttackTest : public ::testing::Test {
 protected:
  FunctionsAttackTest() { Limits(10'000, 32); }

  // Publishes the attacker anew with these limits.
  void Limits(int timeout_ms, int memory_mb) {
    server_.Publish(
        "attack", kAttacker,
        fmt::format(R"({{"limits":{{"timeoutMs":{},"memoryMb":{},"maxConcurrency":100}}}})",
                    timeout_ms, memory_mb));
  }

  Told TellOf(const JsonAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.text;
    if (answer.status != 200) return {.text = answer.text};
    const std::string id(answer.body.at("activation_id").as_string());
    const json::value record = server_.Activation(id);
    Told told{.status = std::string(record.at("status").as_string()),
              .log = server_.LogOf(id),
              .text = json::serialize(record)};
    // There is one result, and it is the same for who asked and for who looks.
    EXPECT_EQ(told.status, answer.body.at("status").as_string()) << told.text;
    EXPECT_EQ(record.at("result"), answer.body.at("result")) << told.text;
    EXPECT_EQ(record.at("error"), answer.body.at("error")) << told.text;
    EXPECT_EQ(record.at("result").is_null(), told.status != "success") << told.text;
    EXPECT_EQ(record.at("error").is_null(), told.status == "success") << told.text;
    if (const json::value& error = record.at("error"); error.is_object()) {
      told.type = error.at("type").as_string();
      told.message = error.at("message").as_string();
    }
    if (const json::value& result = record.at("result"); result.is_object()) {
      told.body = result.at("body").as_string();
    }
    if (const json::value& limit = record.at("limit_hit"); limit.is_string()) {
      told.limit_hit = limit.as_string();
    }
    if (const json::value& usage = record.at("usage"); usage.is_object()) {
      told.peak_memory = usage.at("peak_memory_bytes").as_int64();
    }
    told.truncated = record.at("result_truncated").as_bool();
    return told;
  }
  Told Run(std::string_view code) {
    const json::object event{{"code", code}};
    return TellOf(server_.Invoke("attack", json::serialize(event)));
  }
  void ExpectWell() {
    EXPECT_EQ(Run("return [].concat(1, {}.x === undefined ? 'well' : 'ill')").body,
              R"([1,"well"])");
  }

  FunctionsServer server_;
};

// --- out of the language -------------------------------------------------------------------------

TEST_F(FunctionsAttackTest, NoFileModuleOrProcessCanBeReached) {
  for (const std::string_view code : {
           "return (await import('/proc/self/mem')).default",
           "return (await import('file:///etc/passwd')).default",
           "return (await import('node:fs')).readFileSync('/etc/passwd')",
           "return (await import('../../../etc/passwd')).default",
           "return (await import('./function.js?x')).default",
           "return (await import('data:text/javascript,export default 1')).default",
           "return (await import('./manifest.json')).nosuch.x",
           "return require('fs').readFileSync('/etc/passwd')",
           "return process.binding('fs')",
           "return Function('return process')().env",
           "return globalThis.constructor.constructor('return process')().pid",
           "return (function () {}).constructor('return this.process.mainModule')().x",
           ("return (async () => {}).constructor('return require(\"child_process\")')().then((c) "
            "=> "
            "c.execSync('id'))"),
           "return new Worker('./function.js').postMessage(1)",
           "return new SharedArrayBuffer(8).byteLength",
           "return new WebSocket('ws://127.0.0.1').url",
           "return new XMLHttpRequest().open('GET', '/')",
           "return os.system('id')",
           "return Deno.readTextFileSync('/etc/passwd')",
           "return load('/etc/passwd')",
           "return new ShadowRealm().evaluate('1')",
           "return new Debugger().addAllGlobalsAsDebuggees()",
           "return newGlobal().eval('1')",
           "return setJitCompilerOption('ion.enable', 0)",
           "return getSelfHostedValue('ArrayMap')",
           "return Atomics.wait(new Int32Array(new ArrayBuffer(8)), 0, 0)",
       }) {
    const Told told = Run(code);
    EXPECT_EQ(told.status, "error") << code << " " << told.text;
    EXPECT_EQ(told.limit_hit, "") << code << " " << told.text;
  }
  for (const std::string_view name : {"process",
                                      "require",
                                      "module",
                                      "exports",
                                      "__dirname",
                                      "Deno",
                                      "Bun",
                                      "os",
                                      "std",
                                      "read",
                                      "readline",
                                      "print",
                                      "load",
                                      "snarf",
                                      "quit",
                                      "gc",
                                      "gczeal",
                                      "evalcx",
                                      "newGlobal",
                                      "sandbox",
                                      "options",
                                      "version",
                                      "dis",
                                      "uneval",
                                      "ShadowRealm",
                                      "Debugger",
                                      "Worker",
                                      "SharedArrayBuffer",
                                      "XMLHttpRequest",
                                      "WebSocket",
                                      "localStorage",
                                      "window",
                                      "importScripts",
                                      "host",
                                      "context",
                                      "toResult",
                                      "support"}) {
    EXPECT_EQ(Run(fmt::format("return typeof globalThis['{}']", name)).body, "\"undefined\"")
        << name;
  }
  ExpectWell();
}

TEST_F(FunctionsAttackTest, NothingIsAskedOfTheServerBeyondTheManifest) {
  server_.server().Command({"SET", "cs:kv:t_other1:shop:a:x", "\"theirs\""});
  server_.server().Command({"SET", "cs:kv:t_test01:shop2:a:x", "\"theirs\""});
  for (const std::string_view code : {
           "return cs.kv.get('b:x')",
           "return cs.kv.set('cs:fn:t_test01:shop:attack:meta', 1)",
           "return cs.kv.get('../../t_other1:shop:a:x')",
           "return cs.kv.get('\\0a:x')",
           "return cs.kv.get(':a:')",
           "return cs.kv.get('*')",
           "return cs.kv.get('A:x')",
           "return cs.kv.get(' a:x')",
           "return cs.kv.get('\\u0430:x')",
           "return cs.codeq.publish('cs.invoke', {})",
           "return cs.codeq.publish('cs.results', {})",
           "return cs.codeq.publish('orders2', {})",
           "return cs.jobs.enqueue('cs.invoke', {})",
           "return cs.jobs.enqueue('mail', {})",
           "return cs.cadence.heartbeat({})",
           "return cs.actors.call('a', 'b', 'c')",
           "return fetch('http://10.0.0.1/')",
           "return fetch('http://localhost/')",
           "return fetch('http://127.0.0.1.nip.io/')",
       }) {
    const Told told = Run(code);
    EXPECT_EQ(told.status, "error") << code << " " << told.text;
    EXPECT_THAT(told.log, HasSubstr("[warn] refused: ")) << code << " " << told.text;
  }
  // Arguments that are no arguments.
  for (const std::string_view code :
       {"return cs.kv.get('')", "return cs.kv.get({toString: () => 'a:x'})",
        "return cs.kv.get('a:' + 'x'.repeat(600))", "return cs.kv.set('a:x', () => 1)",
        "return cs.kv.set('a:x', 1n)", "const a = []; a.push(a); return cs.kv.set('a:x', a)",
        "return cs.kv.set('a:x', 'x'.repeat(2e6))", "return cs.kv.set('a:x', 1, {ttlSeconds: -1})",
        "return cs.kv.set('a:x', 1, {ttlSeconds: 1e300})",
        "return cs.codeq.publish('orders', undefined)",
        "return cs.jobs.enqueue('orders', {}, {queue: 'cs.invoke'})",
        "return cs.jobs.enqueue('orders', {}, {chain: [{queue: 'mail', payload: {}}]})",
        "return fetch('file:///etc/passwd')", "return fetch('gopher://127.0.0.1/')",
        "return fetch('http://127.0.0.1/', {method: 'CONNECT'})",
        "return fetch('http://127.0.0.1/', {headers: {'a\\r\\nb': 'c'}})",
        "return fetch('http://127.0.0.1/', {headers: {a: 'b\\r\\nHost: c'}})",
        "return fetch('http://127.0.0.1/', {body: new Uint8Array(7e6), method: 'POST'})"}) {
    EXPECT_EQ(Run(code).status, "error") << code;
  }
  // Keys of its own stay below its own prefix, whatever is in them.
  const Told told = Run(R"(
    const keys = ['a:', 'a:*', 'a:\0', 'a:\n', 'a:..', 'a:../b', 'a::', 'a:cs:fn:', 'a:{t}', 'a:\u{1f600}',
                  'a:' + 'x'.repeat(510)];
    for (const key of keys) await cs.kv.set(key, key.length);
    const read = [];
    for (const key of keys) read.push((await cs.kv.get(key)) === key.length);
    return read.every(Boolean) && keys.length;)");
  EXPECT_EQ(told.body, "11") << told.text;
  EXPECT_EQ(server_.server().Command({"GET", "cs:kv:t_other1:shop:a:x"}), R"(""theirs"")");
  EXPECT_EQ(server_.server().Command({"GET", "cs:kv:t_test01:shop2:a:x"}), R"(""theirs"")");
  Result<net::RespClient> client = server_.server().Connect();
  ASSERT_TRUE(client.ok());
  const Result<net::RespValue> keys = client->Command({"KEYS", "cs:kv:*"});
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->items.size(), 13U);
  for (const net::RespValue& key : keys->items) {
    EXPECT_THAT(key.text, AnyOf(::testing::StartsWith("cs:kv:t_test01:shop:a:"),
                                "cs:kv:t_other1:shop:a:x", "cs:kv:t_test01:shop2:a:x"));
  }
  ExpectWell();
}

// Whatever an address is written like, it is not connected to: a listener hears nothing.
TEST_F(FunctionsAttackTest, NoSpellingOfAnAddressReachesTheMachine) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ASSERT_EQ(listen(listener, 16), 0);  // on a free port of every address
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  for (const std::string_view host :
       {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "127.0.0.1.",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::7f00:1]",
        "169.254.169.254", "[fe80::1]", "user:pass@127.0.0.1", "example.com@127.0.0.1"}) {
    const Told told = Run(fmt::format("return (await fetch('http://{}:{}/')).status", host, port));
    EXPECT_EQ(told.status, "error") << host << " " << told.text;
    EXPECT_THAT(told.log + told.message, AnyOf(HasSubstr("refused"), HasSubstr("URL"))) << host;
  }
  EXPECT_LT(accept(listener, nullptr, nullptr), 0) << "somebody has connected";
  close(listener);
}

// --- prototypes and the runtime's own JavaScript -------------------------------------------------

TEST_F(FunctionsAttackTest, TheRuntimeKeepsItsHostToItself) {
  // Every method of a built-in class tells what it is called on and with, while every part of the
  // runtime is used. The host object is the one that has randomBytes.
  const Told told = Run(R"(
    let leaked = 0, calls = 0, busy = false;
    const ownKeys = Reflect.ownKeys, getOwn = Reflect.getOwnPropertyDescriptor, apply = Reflect.apply;
    const looks = (value) => {
      if (busy || value === null || (typeof value !== 'object' && typeof value !== 'function')) return;
      busy = true;
      try { if (getOwn(value, 'randomBytes') && getOwn(value, 'setTimer')) leaked++; } catch {}
      busy = false;
    };
    const used = async () => {
      console.log('a', {b: [1]}, new Map([[1, 2]]), new Error('x'));
      new URL('http://a.b/c?d#e').searchParams.append('x', 'y');
      new TextDecoder().decode(new TextEncoder().encode('x'));
      await crypto.subtle.digest('SHA-256', new Uint8Array(4));
      crypto.getRandomValues(new Uint8Array(4)); crypto.randomUUID();
      structuredClone({a: [1]}); atob(btoa('x')); performance.now();
      new Headers({a: 'b'}).append('c', 'd'); await new Response('x').text();
      new AbortController().abort(); new Event('x'); new Blob(['x']); new FormData();
      await new Promise((done) => setTimeout(done, 1)); queueMicrotask(() => {});
      try { await fetch('http://localhost/'); } catch {}
      try { await cs.kv.set('a:x', 1); await cs.kv.get('a:x'); } catch {}
    };
    for (const type of [Function, Array, Map, Set, Promise, String, RegExp, Uint8Array, Object, Symbol, Date, WeakMap]) {
      for (const key of ownKeys(type.prototype)) {
        const own = getOwn(type.prototype, key);
        if (typeof own.value !== 'function' || key === 'constructor' || !own.configurable) continue;
        const original = own.value;
        Object.defineProperty(type.prototype, key, {...own, value: function (...args) {
          calls++;
          looks(this);
          for (let i = 0; i < args.length; i++) looks(args[i]);
          return apply(original, this, args);
        }});
      }
    }
    Object.defineProperty(Object.prototype, 'randomBytes', {get() { looks(this); }, set() { looks(this); },
                                                            configurable: true});
    try { await used(); } catch (e) { return 'threw ' + e; }
    return leaked + ' ' + (calls > 0);)");
  EXPECT_EQ(told.body, "\"0 true\"") << told.text;
  ExpectWell();
}

TEST_F(FunctionsAttackTest, TricksWithPrototypesHarmOnlyTheirActivation) {
  for (const std::string_view code : {
           "Object.prototype.statusCode = 700; return {}",
           "Object.prototype.then = (r) => r(1); return {}",
           "Object.prototype.toJSON = () => { throw 1 }; return {a: 1}",
           "Object.defineProperty(Object.prototype, 'body', {get() { throw 1 }}); return {}",
           "Object.prototype.__proto__ = null; return {}",
           "Array.prototype[Symbol.iterator] = function* () { yield* []; }; return fetch('x')",
           "JSON.parse = () => ({value: 'mine'}); return cs.kv.get('b:x')",
           "JSON.stringify = () => '{\"key\":\"b:x\"}'; return cs.kv.get('a:x')",
           "Promise.prototype.then = null; Promise.resolve = null; return cs.kv.get('a:x')",
           "Symbol.hasInstance.toString = null; return new Response('x')",
           "Response.prototype.text = null; return new Response('x')",
           "globalThis.Response = class {}; return new Response()",
           "class R extends Response { get status() { return 9999 } }; return new R('x')",
           ("const r = new Response('x'); Object.defineProperty(r, 'headers', {value: null}); "
            "return r"),
           ("Headers.prototype.forEach = Headers.prototype[Symbol.iterator] = () => { throw 1 }; "
            "return new Response('x', {headers: {a: 'b'}})"),
           ("Function.prototype.call = Function.prototype.apply = () => 1; return new "
            "URL('http://a')"),
           "RegExp.prototype.exec = () => { throw 1 }; return new URL('http://a').href",
           "String.prototype.replace = null; console.log('x'); return 1",
           "Uint8Array = null; return crypto.randomUUID()",
           "Error = null; throw new TypeError('x')",
           "Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')",
           "Error.stackTraceLimit = -1; throw new Error('x')",
           "Object.setPrototypeOf(globalThis, null); return 1",
           ("Object.freeze(Promise.prototype); Object.freeze(Array.prototype); return "
            "cs.kv.get('a:x')"),
           ("for (const k of Reflect.ownKeys(globalThis)) { try { globalThis[k] = null } catch {} "
            "} "
            "return 1"),
           "Object.defineProperty(ctx, 'env', {get() { throw 1 }}); return ctx",
           "ctx.tenant = 't_other1'; ctx.namespace = 'x'; return cs.kv.get('a:x')",
           ("Map.prototype.get = Map.prototype.set = () => { throw 1 }; setTimeout(() => {}, 0); "
            "return 1"),
           "console.log = null; console.error.call(null, {get a() { throw 1 }}); return 1",
           "console.log({[Symbol.for('nodejs.util.inspect.custom')]() { throw 1 }}); return 1",
           "console.log(new Proxy({}, {ownKeys() { throw 1 }, get() { throw 2 }})); return 1",
       }) {
    const Told told = Run(code);
    EXPECT_THAT(told.status, AnyOf("success", "error")) << code << " " << told.text;
    EXPECT_EQ(told.limit_hit, "") << code << " " << told.text;
    EXPECT_THAT(told.text, Not(HasSubstr("theirs")));
  }
  ExpectWell();
}

// --- results -------------------------------------------------------------------------------------

TEST_F(FunctionsAttackTest, WhateverIsReturnedOrThrownIsOneResult) {
  struct Case {
    std::string_view code;
    std::string_view status;
    std::string_view in_record;  // what its record says
  };
  const Case cases[] = {
      {"const a = {}; a.a = a; return a", "error", "cyclic"},
      {"const a = []; a.push(a); return a", "error", "cyclic"},
      {"return 1n", "error", "BigInt"},
      {"return {a: 1n}", "error", "BigInt"},
      {"return Symbol('x')", "error", "symbol"},
      {"return () => 1", "error", "function"},
      {"return {get a() { throw new RangeError('got') }}", "error", "got"},
      {"return {get body() { throw 'got' }}", "error", "got"},
      {"return {toJSON() { throw null }}", "error", "null"},
      {"return {toJSON() { return {toJSON() { return 5 }} }}", "success", "\"{}\""},
      {"return {toJSON: 5}", "success", "toJSON"},
      {"return {toJSON() { return undefined }}", "success", ""},
      {"return new Proxy({}, {ownKeys() { throw new Error('trap') }})", "error", "trap"},
      {"return new Proxy({}, {has() { throw new Error('trap') }})", "error", "trap"},
      {"const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy", "error", "revoked"},
      {"return new Proxy([1, 2], {})", "success", "[1,2]"},
      {"return new Proxy(() => 1, {})", "error", "function"},
      {"throw 'a string'", "error", "a string"},
      {"throw null", "error", "null"},
      {"throw undefined", "error", "undefined"},
      {"throw 7n", "error", "7"},
      {"throw Symbol('x')", "error", "symbol"},
      {"throw {}", "error", "[object Object]"},
      {"throw Object.create(null)", "error", "cannot be shown"},
      {"throw {get message() { throw 1 }}", "error", ""},
      {"throw {message: {toString() { throw 1 }}}", "error", ""},
      {"throw {toString() { throw new Error('twice') }}", "error", ""},
      {"throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 1 }})", "error", ""},
      {"throw Object.assign(new Error('own'), {name: {}, stack: {}})", "error", "own"},
      {"const e = new Error('x'); Object.defineProperty(e, 'message', {get() { throw e }}); throw "
       "e",
       "error", ""},
      {"throw new Error('\\ud800 lone')", "error", "lone"},
      {"class E extends Error { get name() { return 'x'.repeat(1e6) } }; throw new E('y')", "error",
       ""},
      {"return Promise.reject()", "error", "undefined"},
      {"return Promise.reject({then() {}})", "error", ""},
      {"return {then(r) { r(5); r(6); throw 7 }}", "success", "\"5\""},
      {"return {then(a, b) { b('no') }}", "error", "no"},
      {"return {then(r) { r({then(r) { r({then(r) { r('deep') }}) }}) }}", "success", "deep"},
      {"return {then() {}}", "error", "settle"},
      {"return new Promise(() => {})", "error", "settle"},
      {"return {statusCode: '200'}", "error", "statusCode"},
      {"return {statusCode: 99}", "error", "statusCode"},
      {"return {statusCode: 600}", "error", "statusCode"},
      {"return {statusCode: 200.5}", "error", "statusCode"},
      {"return {statusCode: NaN}", "error", "statusCode"},
      {"return {statusCode: 204, body: {}}", "error", "body"},
      {"return {headers: 'x'}", "error", "headers"},
      {"return {headers: {a: {}}}", "error", "header"},
      {"return {headers: {a: 'b\\r\\nc: d'}}", "error", "line break"},
      {"return {body: '', cookies: ['a\\nb']}", "error", "cookies"},
      {"return {cookies: 'a', body: ''}", "error", "cookies"},
      {"return {statusCode: 200, isBase64Encoded: 'yes'}", "error", "isBase64Encoded"},
      {"return {headers: Object.fromEntries(Array.from({length: 5000}, (_, i) => ['h' + i, 'x']))}",
       "error", "headers"},
      {"return {headers: {a: 'x'.repeat(1e5)}}", "error", "headers"},
      {"return new Response('x', {status: 201, headers: {a: 'b'}})", "success", "201"},
      {"return -0", "success", "\"0\""},
      {"return NaN", "success", "null"},
      {"return [undefined, () => 1, Symbol()]", "success", "[null,null,null]"},
      {"return new Date(NaN)", "success", "null"},
      {"return '\\u0000\\u001f\\u2028\\ud800'", "success", ""},
      {"setTimeout(() => { throw new Error('late') }, 0); await new Promise(r => setTimeout(r, "
       "20)); "
       "return 'on time'",
       "success", "on time"},
      {"Promise.reject(new Error('unheard')); return 'on time'", "success", "on time"},
      {"setTimeout(() => { for (;;); }, 5); return 'on time'", "success", "on time"},
      {"(async () => { await null; await null; throw new Error('late') })(); return 'on time'",
       "success", "on time"},
      {"Promise.resolve().then(() => { throw {get message() { throw 1 }} }); return 'on time'",
       "success", "on time"},
  };
  for (const Case& one : cases) {
    const Told told = Run(one.code);
    EXPECT_EQ(told.status, one.status) << one.code << " " << told.text;
    const std::string record = told.type + " " + told.message + " " + told.body + " " + told.text;
    EXPECT_THAT(record, HasSubstr(std::string(one.in_record))) << one.code;
    EXPECT_FALSE(told.truncated) << one.code;
    EXPECT_EQ(told.limit_hit, "") << one.code << " " << told.text;
  }
  EXPECT_THAT(Run("Promise.reject(new Error('unheard')); return 1").log, HasSubstr("unheard"));
  ExpectWell();
}

TEST_F(FunctionsAttackTest, WhatIsTooLongIsCutAndSaysSo) {
  constexpr size_t kMaxResult = 256UL * 1024;
  const Told body = Run("return {body: 'x'.repeat(1e6)}");
  EXPECT_EQ(body.status, "success");
  EXPECT_TRUE(body.truncated);
  EXPECT_LE(body.body.size(), kMaxResult);
  EXPECT_GT(body.body.size(), kMaxResult - 1024);
  const Told whole = Run("return {body: 'x'.repeat(200000)}");
  EXPECT_FALSE(whole.truncated);
  EXPECT_EQ(whole.body.size(), 200'000U);
  const Told wide = Run("return {body: '\\u{1f600}'.repeat(1e5)}");
  EXPECT_TRUE(wide.truncated);
  EXPECT_LE(wide.body.size(), kMaxResult);
  EXPECT_EQ(wide.body.size() % 4, 0U) << "a character was cut in two";
  const Told coded = Run("return {body: btoa('x'.repeat(6e5)), isBase64Encoded: true}");
  EXPECT_TRUE(coded.truncated);
  EXPECT_EQ(coded.body.size() % 4, 0U);
  const Told escaped = Run("return {body: '\\u0001'.repeat(2e5)}");
  EXPECT_EQ(escaped.status, "success");
  const Told listed = Run("return Array.from({length: 1e5}, (_, i) => i)");
  EXPECT_TRUE(listed.truncated);

  const Told message = Run("throw new Error('x'.repeat(1e6))");
  EXPECT_EQ(message.status, "error");
  EXPECT_LE(message.message.size(), 65'536U);
  EXPECT_GT(message.message.size(), 65'000U);
  const Told type = Run("const e = new Error('y'); e.name = 'x'.repeat(1e6); throw e");
  EXPECT_LE(type.type.size(), 128U);
  const Told stack =
      Run("const f = (n) => { if (n) f(n - 1); else throw new Error('deep'); };\n"
          "Object.defineProperty(f, 'name', {value: 'n'.repeat(1000)}); f(200)");
  EXPECT_EQ(stack.message, "deep");
  const json::value record = json::parse(stack.text);
  EXPECT_LE(record.at("error").at("stack").as_string().size(), 8'192U);

  const Told log = Run("for (let i = 0; i < 200; i++) console.log('x'.repeat(30000)); return 1");
  EXPECT_EQ(log.status, "success");
  EXPECT_LE(log.log.size(), static_cast<size_t>(kMiB));
  EXPECT_THAT(log.log, ::testing::EndsWith("it is too long\n"));
  ExpectWell();
}

// --- resources -----------------------------------------------------------------------------------

// Somebody else's function, asked all the time: it must not be disturbed by what the others do.
class Bystander {
 public:
  explicit Bystander(FunctionsServer& server) : server_(server) {
    server_.Publish("well", "export default () => 'well'");
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const JsonAnswer answer = server_.Invoke("well");
        const bool good = answer.status == 200 && answer.text.find("well") != std::string::npos;
        ++(good ? good_ : bad_);
        if (!good) last_bad_ = answer.text;
      }
    });
  }
  void ExpectServed() {
    thread_.request_stop();
    thread_.join();
    EXPECT_GT(good_, 0);
    EXPECT_EQ(bad_, 0) << last_bad_;
    fmt::print("{} other invocations meanwhile, {} of them disturbed\n", good_, bad_);
  }

 private:
  FunctionsServer& server_;
  int good_ = 0;
  int bad_ = 0;
  std::string last_bad_;
  std::jthread thread_;
};

TEST_F(FunctionsAttackTest, EveryAllocatorMeetsTheMemoryLimit) {
  Limits(20'000, 16);
  Bystander bystander(server_);
  for (const std::string_view code : {
           "const a = []; for (;;) a.push(new Array(10000).fill(1))",
           "const a = []; for (;;) a.push({a: {}})",
           "const a = []; a.length = 1e8; a.fill(1); return a.length",
           "const a = []; for (;;) a.push(new ArrayBuffer(1e6))",
           "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))",
           "const a = []; for (;;) a.push(new Float64Array(1e5).fill(1.5))",
           "const a = []; for (let i = 0;; i++) a.push('x'.repeat(1e5) + i + JSON.stringify(i))",
           "let s = 'ab'; for (;;) s = s + s + Math.random()",
           "const a = []; for (let i = 0;; i++) a.push(('x'.repeat(1e5) + i).split(''))",
           "const m = new Map(); for (let i = 0;; i++) m.set(i, {i})",
           "const s = new Set(); for (let i = 0;; i++) s.add('k' + i)",
           "const w = new WeakMap(), a = []; for (;;) { const k = {}; a.push(k); w.set(k, {}); }",
           "const a = []; for (let i = 0;; i++) a.push(() => i)",
           "const a = []; for (let i = 0;; i++) a.push(new RegExp('a' + i)), a[i].test('b')",
           "const a = []; for (;;) a.push(1n << 1000000n)",
           "let b = 3n; for (;;) b = b * b",
           "const a = []; for (let i = 0;; i++) a.push(new Function('return ' + i))",
           "const a = []; for (let i = 0;; i++) a.push(eval('(() => ' + i + ')'))",
           "const a = []; for (;;) a.push(Symbol('x'.repeat(1000)))",
           "const a = []; for (let i = 0;; i++) a.push(Symbol.for('x'.repeat(100) + i))",
           "const a = []; for (;;) a.push(Promise.resolve(1))",
           "for (;;) Promise.resolve().then(() => {})",
           ("const f = () => { Promise.resolve().then(f); Promise.resolve().then(f); }; f(); await "
            "new Promise(() => {})"),
           "const a = []; for (;;) a.push(new WebAssembly.Memory({initial: 16}))",
           "const m = new WebAssembly.Memory({initial: 1}); for (;;) m.grow(16)",
           "const a = []; for (;;) a.push(structuredClone(new Array(1e4).fill({a: 1})))",
           "const a = []; for (let i = 0;; i++) a.push(JSON.parse('[' + '{},'.repeat(1e4) + '1]'))",
           "const a = []; for (;;) a.push(new Error('x'.repeat(1e4)))",
           "const a = []; for (;;) a.push(new URL('http://a/' + 'x'.repeat(1e4)))",
           "const a = []; for (;;) a.push(new TextEncoder().encode('x'.repeat(1e5)))",
           "const a = []; for (;;) a.push(crypto.getRandomValues(new Uint8Array(65536)))",
           "const a = []; for (;;) a.push(new Response('x'.repeat(1e5)))",
           "const a = []; for (;;) a.push(btoa('x'.repeat(1e5)))",
           "const a = []; for (;;) a.push(new Intl.NumberFormat('de'))",
           "const a = []; for (;;) a.push(new Proxy({}, {}))",
           "const a = []; for (;;) a.push(function* () {}())",
           "let o = {}; for (let i = 0;; i++) o['k' + i] = i",
           "let o = null; for (;;) o = {o}",
           "const a = []; for (;;) try { a.push(new Array(1e6).fill(1)) } catch {}",
           "for (;;) try { new ArrayBuffer(2 ** 40) } catch { a = []; for (;;) a.push([a]) }",
           "return {body: 'x'.repeat(2 ** 29)}",
           "return 'x'.repeat(2 ** 28).split('')",
           "return Array.from({length: 1e7}, () => ({}))",
       }) {
    const Told told = Run(code);
    EXPECT_EQ(told.status, "error") << code << " " << told.text.substr(0, 500);
    EXPECT_THAT(told.limit_hit, AnyOf("memory", "crash", ""))
        << code << " " << told.text.substr(0, 500);
    if (told.limit_hit.empty()) {
      EXPECT_THAT(told.type, AnyOf("InternalError", "RangeError")) << code << told.text;
    }
    EXPECT_LT(told.peak_memory, 200 * kMiB) << code;
  }
  bystander.ExpectServed();
  ExpectWell();
  EXPECT_THAT(server_.server().process().err(), HasSubstr("a function was stopped at a limit"));
}

TEST_F(FunctionsAttackTest, EveryEndlessComputationMeetsTheTimeLimit) {
  Limits(100, 256);
  Bystander bystander(server_);
  for (
      const std::string_view code : {
          "for (;;);",
          "try { for (;;); } finally { for (;;); }",
          "for (;;) try { for (;;); } catch {}",
          "return /(a+)+b/.test('a'.repeat(60))",
          "return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
          "return 'a'.repeat(50000).replace(/a*a*a*b/g, 'x')",
          "return [3, 1, 2].sort(() => { for (;;); })",
          "const a = Array.from({length: 3e6}, Math.random); for (;;) a.sort((x, y) => y - x)",
          "const t = '[' + '1,'.repeat(3e6) + '1]'; for (;;) JSON.parse(t)",
          "const o = Array.from({length: 1e5}, () => ({a: 1})); for (;;) JSON.stringify(o)",
          "return JSON.parse('[1]', () => { for (;;); })",
          "return JSON.stringify({toJSON() { for (;;); }})",
          "let b = 2n ** 100000n; for (;;) b = (b * b) % (2n ** 200000n - 1n)",
          "for (;;) (7n ** 300000n).toString()",
          "const f = () => Promise.resolve().then(f); await f()",
          "for (;;) await null",
          "const f = () => queueMicrotask(f); f(); await new Promise(() => {})",
          "const f = () => setTimeout(f, 0); f(); await new Promise(() => {})",
          "setInterval(() => {}, 0); await new Promise(() => {})",
          "for (;;) await new Promise((r) => setTimeout(r, 1))",
          "for (;;) await cs.kv.get('a:x')",
          "for (;;) console.log('x')",
          "await new Promise((r) => setTimeout(r, 1e9))",
          "const g = (function* () { for (;;) yield 1; })(); for (const x of g);",
          "return [...(function* () { for (;;) yield; })()].length",
          "new Function('for(;;);')()",
          "eval('for(;;);')",
          "for (;;) new Function('return ' + Math.random())()",
          "return 'x'.padEnd(2 ** 28).indexOf('y'.repeat(1e5))",
          "for (;;) 'x'.repeat(1e7).split('x')",
          "for (;;) structuredClone(new Array(1e4).fill({}))",
          "for (;;) new Intl.DateTimeFormat('de').format(0)",
          "for (;;) Array.from({length: 1e6})",
          "for (;;) new Uint8Array(1e7).fill(1)",
          "return {get body() { for (;;); }}",
          "return {toJSON() { for (;;); }}",
          "return new Proxy({}, {has() { for (;;); }})",
          "throw {get message() { for (;;); }}",
          "throw {toString() { for (;;); }}",
          "Promise.reject({get message() { for (;;); }}); return 1",
          ("console.log({get a() { for (;;); }, [Symbol.for('nodejs.util.inspect.custom')]() { for "
           "(;;); }})"),
          ("const code = new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,"
           "10,9,1,7,0,3,64,12,0,11,11]); new WebAssembly.Instance(new "
           "WebAssembly.Module(code)).exports.f()"),
      }) {
    const Told told = Run(code);
    // What fills its memory meanwhile may meet that limit first.
    EXPECT_THAT(told.status, AnyOf("timeout", "error")) << code << " " << told.text.substr(0, 500);
    EXPECT_THAT(told.limit_hit, AnyOf("wall", "cpu", "memory", "crash"))
        << code << " " << told.text.substr(0, 500);
  }
  bystander.ExpectServed();
  Limits(10'000, 32);
  ExpectWell();
}

TEST_F(FunctionsAttackTest, DepthIsAnErrorOfTheFunction) {
  for (const std::string_view code : {
           "const f = () => f(); f()",
           "class A { get a() { return this.a } }; return new A().a",
           "let a = {}; for (let i = 0; i < 2e5; i++) a = {a}; return a",
           "let a = []; for (let i = 0; i < 2e5; i++) a = [a]; return JSON.stringify(a)",
           "return JSON.parse('['.repeat(2e5) + ']'.repeat(2e5)).length",
           "let a = {}; for (let i = 0; i < 2e5; i++) a = {a}; return structuredClone(a)",
           "return eval('('.repeat(1e5) + '1' + ')'.repeat(1e5))",
           "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')",
           "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x",
           "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()",
           ("let s = 'a'; for (let i = 0; i < 1e5; i++) s = 'b' + s + 'c'; return s.length + "
            "s.charCodeAt(5)"),
           ("let e = new Error('x'); for (let i = 0; i < 1e5; i++) e = new Error('y', {cause: e}); "
            "console.log(e); throw e"),
           "let a = {}; for (let i = 0; i < 1e5; i++) a = {a}; console.log(a); return 1",
       }) {
    const Told told = Run(code);
    EXPECT_THAT(told.status, AnyOf("error", "success")) << code << " " << told.text.substr(0, 500);
    EXPECT_THAT(told.limit_hit, AnyOf("", "memory")) << code << " " << told.text.substr(0, 500);
  }
  ExpectWell();
}

// --- bundles -------------------------------------------------------------------------------------

TEST_F(FunctionsAttackTest, BundlesThatAttackCostTheirOwnInvocation) {
  const auto run = [&](const std::string& source) {
    const JsonAnswer published = server_.TryPublish(
        "bundle", source, R"({"limits":{"timeoutMs":1000,"memoryMb":64,"maxConcurrency":10}})");
    if (published.status == 201) return TellOf(server_.Invoke("bundle"));
    // What does not compile is told to whoever publishes it.
    EXPECT_EQ(published.status, 400) << published.text;
    EXPECT_THAT(published.text, HasSubstr("CS_VALIDATION_FAILED"));
    return Told{.status = "refused", .text = published.text};
  };
  for (const std::string& source : {
           std::string("for (;;); export default () => 1"),
           std::string("await new Promise(() => {}); export default () => 1"),
           std::string("export default await new Promise((r) => setTimeout(r, 1e6))"),
           std::string("import './function.js'; import.meta.url.x.y; export default () => 1"),
           std::string("export default 5"),
           std::string("export const x = 1"),
           std::string("export { nosuch as default }"),
           std::string("import x from './nosuch.js'; export default () => 1"),
           std::string("import fs from 'fs'; export default () => 1"),
           std::string("export default () => ") + std::string(200'000, '(') + "1",
           "export default () => " + std::string(200'000, '['),
           "export default () => /" + std::string(200'000, '(') + "/",
           std::string("export default () => { ") + std::string(300'000, '{'),
           std::string(100, '\xFF'),
           std::string("const a = []; for (;;) a.push(new Array(1e5).fill(1))"),
           std::string("\0export default () => 1", 23),
       }) {
    const Told told = run(source);
    EXPECT_THAT(told.status, AnyOf("error", "timeout", "refused"))
        << source.substr(0, 100) << told.text;
  }
  EXPECT_EQ(run("import f from './function.js'; export default () => typeof f").body,
            "\"function\"");
  ExpectWell();
}

// --- tenants -------------------------------------------------------------------------------------

TEST_F(FunctionsAttackTest, TenantsNeverShareStateOrData) {
  const std::string source = R"(
    globalThis.seen ??= [];
    export default async (event, ctx) => {
      seen.push(ctx.tenant + '/' + ctx.namespace);
      Object.prototype.left = (Object.prototype.left ?? '') + ctx.tenant;
      await cs.kv.set('a:who', ctx.tenant);
      return {seen, left: {}.left, who: await cs.kv.get('a:who')};
    })";
  const std::string manifest =
      R"({"schema":"cs.function.script.v1","runtime":"cs-js","entry":"function.js",)"
      R"("handler":"default","limits":{"timeoutMs":10000,"memoryMb":64,"maxConcurrency":10},)"
      R"("capabilities":{"kv":{"prefixes":["a:"],"ops":["get","set"]},"codeq":{},"http":{}},)"
      R"("isolation":"version"})";
  const std::vector<std::string> tenants = {"t_alpha1", "t_beta22"};
  for (const std::string& tenant : tenants) {
    const std::string base = fmt::format("/v1/tenants/{}/namespaces/same/functions", tenant);
    ASSERT_EQ(server_.Call("POST", base, R"({"name":"state"})").status, 201);
    const json::object request{{"files", json::object{{"function.js", Base64(source)},
                                                      {"manifest.json", Base64(manifest)}}},
                               {"alias", "live"}};
    ASSERT_EQ(server_.Call("POST", base + "/state/versions", json::serialize(request)).status, 201);
  }
  for (int round = 0; round < 20; ++round) {
    for (const std::string& tenant : tenants) {
      const std::string& other = tenants[tenant == tenants[0] ? 1 : 0];
      const JsonAnswer answer = server_.Call(
          "POST", fmt::format("/v1/tenants/{}/namespaces/same/functions/state:invoke", tenant),
          R"({"ref":{"alias":"live"},"event":{}})");
      ASSERT_EQ(answer.status, 200) << answer.text;
      EXPECT_THAT(answer.text, AllOf(HasSubstr(tenant), Not(HasSubstr(other))));
    }
  }
  EXPECT_EQ(server_.server().Command({"GET", "cs:kv:t_alpha1:same:a:who"}), R"(""t_alpha1"")");
  EXPECT_EQ(server_.server().Command({"GET", "cs:kv:t_beta22:same:a:who"}), R"(""t_beta22"")");
}

}  // namespace
}  // namespace cairn::testing

#include "functions/engine/host_functions.h"

#include <js/CallArgs.h>
#include <js/Conversions.h>
#include <js/Object.h>
#include <js/PropertyAndElement.h>
#include <js/PropertySpec.h>
#include <js/ScalarType.h>
#include <js/StructuredClone.h>
#include <js/experimental/TypedData.h>
#include <jsfriendapi.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <unicode/uidna.h>
#include <unicode/ustring.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "functions/engine/activation.h"
#include "functions/engine/engine_impl.h"
#include "functions/engine/exception.h"
#include "functions/engine/realm.h"
#include "functions/engine/text.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr double kMaxRandomBytes = 65'536;
constexpr double kNsPerMs = 1'000'000;
constexpr int32_t kReplacement = 0xFFFD;

bool Throw(JSContext* cx, const char* message) {
  JS_ReportErrorUTF8(cx, "%s", message);
  return false;
}

// The run that is under way. Throws if there is none: a module's text runs inside one too.
Activation* Current(JSContext* cx) {
  Activation* const activation = Engine::Impl::Of(cx).activation();
  if (activation == nullptr) Throw(cx, "nothing can be asked of the server now");
  return activation;
}

std::optional<std::string> TextArgument(JSContext* cx, const JS::CallArgs& args, unsigned index) {
  return TextOf(cx, args.get(index));
}

// The bytes of an argument that is a Uint8Array.
std::optional<std::string> BytesArgument(JSContext* cx, const JS::CallArgs& args, unsigned index) {
  if (args.get(index).isObject()) {
    size_t size = 0;
    bool shared = false;
    uint8_t* data = nullptr;
    if (JS_GetObjectAsUint8Array(&args[index].toObject(), &size, &shared, &data) != nullptr) {
      return std::string(reinterpret_cast<const char*>(data), size);
    }
  }
  Throw(cx, "a Uint8Array was expected");
  return std::nullopt;
}

bool ReturnBytes(JSContext* cx, const JS::CallArgs& args, std::string_view bytes) {
  const JS::RootedObject array(cx, JS_NewUint8Array(cx, bytes.size()));
  if (array == nullptr) return false;
  {
    const JS::AutoCheckCannotGC no_gc;
    bool shared = false;
    uint8_t* const data = JS_GetUint8ArrayData(array, &shared, no_gc);
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  }
  args.rval().setObject(*array);
  return true;
}

bool ReturnText(JSContext* cx, const JS::CallArgs& args, std::string_view text) {
  JSString* const string = StringOf(cx, text);
  if (string == nullptr) return false;
  args.rval().setString(string);
  return true;
}

JSObject* FunctionArgument(JSContext* cx, const JS::CallArgs& args, unsigned index = 0) {
  if (args.get(index).isObject() && JS::IsCallable(&args[index].toObject())) {
    return &args[index].toObject();
  }
  Throw(cx, "a function was expected");
  return nullptr;
}

// --- the server ----------------------------------------------------------------------------------

bool Call(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> operation = TextArgument(cx, args, 0);
  if (!operation) return false;
  const std::optional<std::string> arguments = TextArgument(cx, args, 1);
  if (!arguments) return false;
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  JSObject* const promise = activation->Call(*operation, *arguments);
  if (promise == nullptr) return false;
  args.rval().setObject(*promise);
  return true;
}

bool LogLine(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> level = TextArgument(cx, args, 0);
  if (!level) return false;
  const std::optional<std::string> text = TextArgument(cx, args, 1);
  if (!text) return false;
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  if (activation->host() != nullptr) {
    activation->host()->Log(CleanText(*level, wire::kMaxLogLevelBytes),
                            CleanText(WithSources(cx, *text), wire::kMaxLogLineBytes));
  }
  args.rval().setUndefined();
  return true;
}

// --- the run -------------------------------------------------------------------------------------

bool Watch(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const JS::RootedObject idle(cx, FunctionArgument(cx, args, 0));
  if (idle == nullptr) return false;
  const JS::RootedObject end(cx, FunctionArgument(cx, args, 1));
  if (end == nullptr) return false;
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  activation->Watch(idle, end);
  args.rval().setUndefined();
  return true;
}

// Never returns to its caller: without an exception pending, all of the stack is left.
bool Leave(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  std::optional<RunError> error;
  if (!args.get(0).isUndefined()) {
    const std::optional<std::string> type = TextArgument(cx, args, 0);
    if (!type) return false;
    const std::optional<std::string> message = TextArgument(cx, args, 1);
    if (!message) return false;
    error = RunError{.type = CleanText(*type, wire::kMaxErrorTypeBytes),
                     .message = CleanText(*message, wire::kMaxErrorMessageBytes)};
  }
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  activation->Leave(std::move(error));
  return false;
}

// --- time ----------------------------------------------------------------------------------------

bool SetTimer(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const JS::RootedObject function(cx, FunctionArgument(cx, args));
  if (function == nullptr) return false;
  double delay_ms = 0;
  if (!JS::ToNumber(cx, args.get(1), &delay_ms)) return false;
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  double id = 0;
  const Activation::TimerKind kind{.repeat = JS::ToBoolean(args.get(2)),
                                   .keeps = !JS::ToBoolean(args.get(3))};
  if (!activation->SetTimer(function, delay_ms, kind, id)) return false;
  args.rval().setNumber(id);
  return true;
}

bool ClearTimer(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  if (args.get(0).isNumber()) activation->ClearTimer(args[0].toNumber());
  args.rval().setUndefined();
  return true;
}

bool QueueMicrotask(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const JS::RootedObject function(cx, FunctionArgument(cx, args));
  if (function == nullptr) return false;
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  if (!activation->queue().Add(function)) {
    JS_ReportOutOfMemory(cx);
    return false;
  }
  args.rval().setUndefined();
  return true;
}

bool NowMs(JSContext* /*cx*/, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  args.rval().setNumber(
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
  return true;
}

bool MonotonicMs(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  args.rval().setNumber(static_cast<double>(MonotonicNowNs() - activation->started_ns()) /
                        kNsPerMs);
  return true;
}

// --- bytes and hashes ----------------------------------------------------------------------------

bool FillRandom(std::string& bytes) {
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (got <= 0 && errno != EINTR) return false;
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return true;
}

bool RandomBytes(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  double wanted = 0;
  if (!JS::ToNumber(cx, args.get(0), &wanted)) return false;
  if (!(wanted >= 0 && wanted <= kMaxRandomBytes)) {
    return Throw(cx, "at most 65536 random bytes at once");
  }
  std::string bytes(static_cast<size_t>(wanted), '\0');
  if (!FillRandom(bytes)) return Throw(cx, "the system gave no random bytes");
  return ReturnBytes(cx, args, bytes);
}

const EVP_MD* AlgorithmOf(std::string_view name) {
  if (name == "SHA-1") return EVP_sha1();
  if (name == "SHA-256") return EVP_sha256();
  if (name == "SHA-384") return EVP_sha384();
  if (name == "SHA-512") return EVP_sha512();
  return nullptr;
}

const EVP_MD* AlgorithmArgument(JSContext* cx, const JS::CallArgs& args) {
  const std::optional<std::string> name = TextArgument(cx, args, 0);
  if (!name) return nullptr;
  const EVP_MD* const algorithm = AlgorithmOf(*name);
  if (algorithm == nullptr) {
    Throw(cx, "the algorithm must be SHA-1, SHA-256, SHA-384 or SHA-512");
  }
  return algorithm;
}

bool Digest(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const EVP_MD* const algorithm = AlgorithmArgument(cx, args);
  if (algorithm == nullptr) return false;
  const std::optional<std::string> data = BytesArgument(cx, args, 1);
  if (!data) return false;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out = {};
  unsigned int size = 0;
  if (EVP_Digest(data->data(), data->size(), out.data(), &size, algorithm, nullptr) != 1) {
    return Throw(cx, "the digest could not be made");
  }
  return ReturnBytes(cx, args, {reinterpret_cast<const char*>(out.data()), size});
}

bool Hmac(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const EVP_MD* const algorithm = AlgorithmArgument(cx, args);
  if (algorithm == nullptr) return false;
  const std::optional<std::string> key = BytesArgument(cx, args, 1);
  if (!key) return false;
  const std::optional<std::string> data = BytesArgument(cx, args, 2);
  if (!data) return false;
  std::array<unsigned char, EVP_MAX_MD_SIZE> out = {};
  unsigned int size = 0;
  if (HMAC(algorithm, key->data(), static_cast<int>(key->size()),
           reinterpret_cast<const unsigned char*>(data->data()), data->size(), out.data(),
           &size) == nullptr) {
    return Throw(cx, "the HMAC could not be made");
  }
  return ReturnBytes(cx, args, {reinterpret_cast<const char*>(out.data()), size});
}

// --- text ----------------------------------------------------------------------------------------

bool Utf8Encode(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> text = TextArgument(cx, args, 0);
  return text && ReturnBytes(cx, args, *text);
}

bool Utf8Decode(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> bytes = BytesArgument(cx, args, 0);
  if (!bytes) return false;
  std::string_view text = *bytes;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (!JS::ToBoolean(args.get(2)) && text.starts_with(kByteOrderMark)) text.remove_prefix(3);
  if (IsUtf8(text)) return ReturnText(cx, args, text);
  if (JS::ToBoolean(args.get(1))) {
    return ThrowTypeError(cx, "the bytes are not valid UTF-8");
  }
  std::u16string units(text.size(), u'\0');
  int32_t size = 0;
  UErrorCode failure = U_ZERO_ERROR;
  u_strFromUTF8WithSub(units.data(), static_cast<int32_t>(units.size()), &size, text.data(),
                       static_cast<int32_t>(text.size()), kReplacement, nullptr, &failure);
  if (U_FAILURE(failure)) return Throw(cx, "the bytes could not be decoded");
  JSString* const string = JS_NewUCStringCopyN(cx, units.data(), static_cast<size_t>(size));
  if (string == nullptr) return false;
  args.rval().setString(string);
  return true;
}

const UIDNA* Idna() {
  static const UIDNA* const idna = [] {
    UErrorCode failure = U_ZERO_ERROR;
    return uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ |
                               UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_NONTRANSITIONAL_TO_UNICODE,
                           &failure);
  }();
  return idna;
}

// As browsers do it: nothing about lengths, hyphens or empty labels is an error.
std::optional<std::string> DomainToAscii(std::string_view domain) {
  constexpr uint32_t kForgiven = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                                 UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                                 UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;
  constexpr size_t kMostDomainBytes = 8'192;
  constexpr size_t kMostGrowth = 8;
  if (domain.size() > kMostDomainBytes || Idna() == nullptr) return std::nullopt;
  std::string out(domain.size() * kMostGrowth + kMostGrowth, '\0');
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  UErrorCode failure = U_ZERO_ERROR;
  const int32_t size =
      uidna_nameToASCII_UTF8(Idna(), domain.data(), static_cast<int32_t>(domain.size()), out.data(),
                             static_cast<int32_t>(out.size()), &info, &failure);
  if (U_FAILURE(failure) || (info.errors & ~kForgiven) != 0) return std::nullopt;
  out.resize(static_cast<size_t>(size));
  return out;
}

bool DomainToAsciiFunction(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> domain = TextArgument(cx, args, 0);
  if (!domain) return false;
  const std::optional<std::string> ascii = DomainToAscii(*domain);
  if (ascii) return ReturnText(cx, args, *ascii);
  args.rval().setNull();
  return true;
}

// --- values --------------------------------------------------------------------------------------

bool StructuredClone(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  JSAutoStructuredCloneBuffer copy(JS::StructuredCloneScope::SameProcess, nullptr, nullptr);
  return copy.write(cx, args.get(0), args.get(1), JS::CloneDataPolicy()) &&
         copy.read(cx, args.rval());
}

bool Global(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  const std::optional<std::string> name = TextArgument(cx, args, 0);
  if (!name) return false;
  const JS::RootedObject global(cx, JS::CurrentGlobalOrNull(cx));
  Realm* const realm = Realm::Of(global);
  if (realm == nullptr) return Throw(cx, "the runtime has ended");
  if (const Runtime::Name* const found = realm->runtime().Find(*name)) {
    return realm->RuntimeValue(cx, *found, args.rval());
  }
  return JS_GetProperty(cx, global, name->c_str(), args.rval());
}

constexpr JSFunctionSpec kFunctions[] = {JS_FN("call", Call, 2, 0),
                                         JS_FN("log", LogLine, 2, 0),
                                         JS_FN("watch", Watch, 2, 0),
                                         JS_FN("leave", Leave, 2, 0),
                                         JS_FN("setTimer", SetTimer, 4, 0),
                                         JS_FN("clearTimer", ClearTimer, 1, 0),
                                         JS_FN("queueMicrotask", QueueMicrotask, 1, 0),
                                         JS_FN("nowMs", NowMs, 0, 0),
                                         JS_FN("monotonicMs", MonotonicMs, 0, 0),
                                         JS_FN("randomBytes", RandomBytes, 1, 0),
                                         JS_FN("digest", Digest, 2, 0),
                                         JS_FN("hmac", Hmac, 3, 0),
                                         JS_FN("utf8Encode", Utf8Encode, 1, 0),
                                         JS_FN("utf8Decode", Utf8Decode, 3, 0),
                                         JS_FN("domainToASCII", DomainToAsciiFunction, 1, 0),
                                         JS_FN("structuredClone", StructuredClone, 2, 0),
                                         JS_FN("global", Global, 1, 0),
                                         JS_FS_END};

}  // namespace

JSObject* MakeHostObject(JSContext* cx) {
  const JS::RootedObject host(cx, JS_NewPlainObject(cx));
  if (host == nullptr || !JS_DefineFunctions(cx, host, kFunctions)) return nullptr;
  return host;
}

void WarmHostFunctions() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out = {};
  unsigned int size = 0;
  for (const char* const name : {"SHA-1", "SHA-256", "SHA-384", "SHA-512"}) {
    EVP_Digest("", 0, out.data(), &size, AlgorithmOf(name), nullptr);
    HMAC(AlgorithmOf(name), "", 0, nullptr, 0, out.data(), &size);
  }
  (void)DomainToAscii(
      "b\xC3\xBC"
      "cher.example");
}

}  // namespace cairn::functions

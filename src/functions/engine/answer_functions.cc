#include "functions/engine/answer_functions.h"

#include <js/CallAndConstruct.h>
#include <js/CallArgs.h>
#include <js/Exception.h>
#include <js/PropertyAndElement.h>
#include <js/PropertySpec.h>
#include <js/experimental/TypedData.h>
#include <jsfriendapi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "functions/engine/activation.h"
#include "functions/engine/engine_impl.h"
#include "functions/engine/result.h"
#include "functions/engine/text.h"

namespace cairn::functions {
namespace {

bool Throw(JSContext* cx, const char* message) {
  JS_ReportErrorUTF8(cx, "%s", message);
  return false;
}

// Throws what is wrong with an answer, under its own name.
bool ThrowRunError(JSContext* cx, const RunError& error) {
  JS_ReportErrorUTF8(cx, "%s", error.message.c_str());
  JS::RootedValue thrown(cx);
  if (!JS_GetPendingException(cx, &thrown) || !thrown.isObject()) return false;
  JS_ClearPendingException(cx);
  const JS::RootedObject object(cx, &thrown.toObject());
  JSString* const name = StringOf(cx, error.type);
  if (name == nullptr) return false;
  const JS::RootedValue value(cx, JS::StringValue(name));
  if (!JS_SetProperty(cx, object, "name", value)) return false;
  JS_SetPendingException(cx, thrown);
  return false;
}

Activation* Current(JSContext* cx) {
  Activation* const activation = Engine::Impl::Of(cx).activation();
  if (activation == nullptr) Throw(cx, "nothing can be asked of the server now");
  return activation;
}

bool AnswerBegin(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  RunError error;
  const std::optional<ResultText> head = MakeResult(cx, args.get(0), error);
  if (!head) return ThrowRunError(cx, error);
  Activation* const activation = Current(cx);
  args.rval().setUndefined();
  return activation != nullptr && activation->BeginStream(head->json);
}

bool AnswerWrite(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  std::string bytes;
  size_t size = 0;
  bool shared = false;
  uint8_t* data = nullptr;
  if (!args.get(0).isObject() ||
      JS_GetObjectAsUint8Array(&args[0].toObject(), &size, &shared, &data) == nullptr) {
    return Throw(cx, "a Uint8Array was expected");
  }
  bytes.assign(reinterpret_cast<const char*>(data), size);
  Activation* const activation = Current(cx);
  if (activation == nullptr || !activation->StreamPiece(bytes)) return false;
  args.rval().setUndefined();
  if (activation->has_room()) return true;
  JSObject* const promise = activation->AwaitRoom();
  if (promise == nullptr) return false;
  args.rval().setObject(*promise);
  return true;
}

bool AnswerEnd(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  Activation* const activation = Current(cx);
  args.rval().setUndefined();
  return activation != nullptr && activation->EndStream();
}

bool OnAbort(JSContext* cx, unsigned count, JS::Value* vp) {
  const JS::CallArgs args = JS::CallArgsFromVp(count, vp);
  if (!args.get(0).isObject() || !JS::IsCallable(&args[0].toObject())) {
    return Throw(cx, "a function was expected");
  }
  const JS::RootedObject function(cx, &args[0].toObject());
  Activation* const activation = Current(cx);
  if (activation == nullptr) return false;
  args.rval().setUndefined();
  const std::optional<std::string>& reason = activation->OnAbort(function);
  if (!reason) return true;
  JSString* const text = StringOf(cx, *reason);
  if (text == nullptr) return false;
  args.rval().setString(text);
  return true;
}

constexpr JSFunctionSpec kFunctions[] = {
    JS_FN("answerBegin", AnswerBegin, 1, 0), JS_FN("answerWrite", AnswerWrite, 1, 0),
    JS_FN("answerEnd", AnswerEnd, 0, 0), JS_FN("onAbort", OnAbort, 1, 0), JS_FS_END};

}  // namespace

bool DefineAnswerFunctions(JSContext* cx, JS::HandleObject host) {
  return JS_DefineFunctions(cx, host, kFunctions);
}

}  // namespace cairn::functions

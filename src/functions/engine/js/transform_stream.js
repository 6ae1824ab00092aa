// TransformStream, and the two that turn text into UTF-8 and back.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  const readable = host.global('streamParts');
  const writable = host.global('writableParts');
  const { deferred, method, called, dictionary, highWaterMark, sizeAlgorithm } = readable;
  const MADE_HERE = {};
  const noop = () => {};

  // One transform: {readable, writable, pressure, changed, transform, flush, cancel, finish}. `changed` is
  // settled when the pressure from the readable side changes.
  function setPressure(state, pressure) {
    state.changed?.resolve(undefined);
    state.changed = deferred();
    state.pressure = pressure;
  }

  function forget(state) {
    state.transform = noop;
    state.flush = noop;
    state.cancel = noop;
  }

  function errorWritable(state, error) {
    forget(state);
    writable.errorIfNeeded(state.sink.controller, error);
    if (state.pressure) setPressure(state, false);
  }

  function errorBoth(state, error) {
    readable.errorController(state.source, error);
    errorWritable(state, error);
  }

  function enqueue(state, chunk) {
    if (!readable.canEnqueue(state.source)) throw new TypeError('the readable side takes no more chunks');
    try {
      readable.enqueue(state.source, chunk);
    } catch (error) {
      errorWritable(state, error);
      throw state.sourceStream.error;
    }
    const pressure = readable.hasBackpressure(state.source);
    if (pressure !== state.pressure) setPressure(state, true);
  }

  function perform(state, chunk) {
    return called(state.transform, chunk, state.object).catch((error) => {
      errorBoth(state, error);
      throw error;
    });
  }

  function write(state, chunk) {
    if (!state.pressure) return perform(state, chunk);
    return state.changed.promise.then(() => {
      if (state.sink.state === 'erroring') throw state.sink.error;
      return perform(state, chunk);
    });
  }

  // An end that comes from one side; the other side hears of it once.
  function finishOnce(state, run, after) {
    if (state.finish !== null) return state.finish.promise;
    state.finish = deferred();
    readable.handled(state.finish.promise);
    forget(state);
    called(run).then(() => after.done(state.finish), (error) => after.failed(state.finish, error));
    return state.finish.promise;
  }

  function abort(state, reason) {
    return finishOnce(state, state.cancel.bind(null, reason), {
      done: (finish) => {
        if (state.sourceStream.state === 'errored') return finish.reject(state.sourceStream.error);
        readable.errorController(state.source, reason);
        return finish.resolve(undefined);
      },
      failed: (finish, error) => {
        readable.errorController(state.source, error);
        finish.reject(error);
      },
    });
  }

  function close(state) {
    return finishOnce(state, state.flush.bind(null, state.object), {
      done: (finish) => {
        if (state.sourceStream.state === 'errored') return finish.reject(state.sourceStream.error);
        readable.closeController(state.source);
        return finish.resolve(undefined);
      },
      failed: (finish, error) => {
        readable.errorController(state.source, error);
        finish.reject(error);
      },
    });
  }

  function cancel(state, reason) {
    return finishOnce(state, state.cancel.bind(null, reason), {
      done: (finish) => {
        if (state.sink.state === 'errored') return finish.reject(state.sink.error);
        writable.errorIfNeeded(state.sink.controller, reason);
        if (state.pressure) setPressure(state, false);
        return finish.resolve(undefined);
      },
      failed: (finish, error) => {
        writable.errorIfNeeded(state.sink.controller, error);
        if (state.pressure) setPressure(state, false);
        finish.reject(error);
      },
    });
  }

  function make({ start = noop, transform, flush = noop, cancel: stop = noop }, into, outOf) {
    const started = deferred();
    const state = { pressure: undefined, changed: null, transform, flush, cancel: stop, finish: null };
    state.object = new TransformStreamDefaultController(MADE_HERE, state);
    state.writable = writable.make({
      start: () => started.promise,
      write: (chunk) => write(state, chunk),
      close: () => close(state),
      abort: (reason) => abort(state, reason),
      ...into,
    });
    state.sink = writable.stateOf(state.writable);
    state.readable = readable.make({
      start: () => started.promise,
      pull: () => {
        setPressure(state, false);
        return state.changed.promise;
      },
      cancel: (reason) => cancel(state, reason),
      ...outOf,
    });
    state.source = readable.controllerOf(state.readable);
    state.sourceStream = state.source.stream;
    setPressure(state, true);
    started.resolve(start(state.object));
    return state;
  }

  class TransformStreamDefaultController {
    #state;

    constructor(key, state) {
      if (key !== MADE_HERE) throw new TypeError('TransformStreamDefaultController: a stream makes its own');
      this.#state = state;
    }

    get desiredSize() {
      return readable.desiredSize(this.#state.source);
    }

    enqueue(chunk = undefined) {
      enqueue(this.#state, chunk);
    }

    error(error = undefined) {
      errorBoth(this.#state, error);
    }

    terminate() {
      const state = this.#state;
      readable.closeController(state.source);
      errorWritable(state, new TypeError('the transform was terminated'));
    }
  }

  class TransformStream {
    #state;

    constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
      const how = dictionary(transformer, 'the transformer');
      const into = dictionary(writableStrategy, 'the writable strategy');
      const outOf = dictionary(readableStrategy, 'the readable strategy');
      if (how.readableType !== undefined || how.writableType !== undefined) {
        throw new RangeError('the transformer must not have readableType or writableType');
      }
      const [start, transform, flush, stop] =
        ['start', 'transform', 'flush', 'cancel'].map((name) => method(how, name, 'the transformer'));
      this.#state = make({
        start: start ?? noop,
        transform: transform ?? ((chunk, controller) => controller.enqueue(chunk)),
        flush: flush ?? noop,
        cancel: stop ?? noop,
      }, { mark: highWaterMark(into, 1), size: sizeAlgorithm(into) },
      { mark: highWaterMark(outOf, 0), size: sizeAlgorithm(outOf) });
    }

    get readable() {
      return this.#state.readable;
    }

    get writable() {
      return this.#state.writable;
    }
  }

  // A pair of character that two chunks share is put together again.
  class TextEncoderStream {
    #pair;

    constructor() {
      const { toUSVString } = host.global('support');
      let high = '';
      this.#pair = make({
        transform: (chunk, controller) => {
          let text = high + `${chunk}`;
          high = '';
          const last = text.charCodeAt(text.length - 1);
          if (last >= 0xd800 && last <= 0xdbff) {
            high = text.slice(-1);
            text = text.slice(0, -1);
          }
          if (text !== '') controller.enqueue(host.utf8Encode(toUSVString(text)));
        },
        flush: (controller) => {
          if (high !== '') controller.enqueue(host.utf8Encode('\ufffd'));
        },
      }, {}, { mark: 0 });
    }

    get encoding() {
      return 'utf-8';
    }

    get readable() {
      return this.#pair.readable;
    }

    get writable() {
      return this.#pair.writable;
    }
  }

  class TextDecoderStream {
    #decoder;
    #pair;

    constructor(label = 'utf-8', options = {}) {
      const decoder = new (host.global('TextDecoder'))(label, options);
      this.#decoder = decoder;
      const pass = (text, controller) => {
        if (text !== '') controller.enqueue(text);
      };
      this.#pair = make({
        transform: (chunk, controller) => pass(decoder.decode(chunk, { stream: true }), controller),
        flush: (controller) => pass(decoder.decode(), controller),
      }, {}, { mark: 0 });
    }

    get encoding() {
      return this.#decoder.encoding;
    }

    get fatal() {
      return this.#decoder.fatal;
    }

    get ignoreBOM() {
      return this.#decoder.ignoreBOM;
    }

    get readable() {
      return this.#pair.readable;
    }

    get writable() {
      return this.#pair.writable;
    }
  }

  return {
    TransformStream: asInterface(TransformStream),
    TransformStreamDefaultController: asInterface(TransformStreamDefaultController),
    TextEncoderStream: asInterface(TextEncoderStream),
    TextDecoderStream: asInterface(TextDecoderStream),
  };
})

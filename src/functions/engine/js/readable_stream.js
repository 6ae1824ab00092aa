// ReadableStream with its default reader and controller, as the standard (https://streams.spec.whatwg.org)
// has them. Streams of type "bytes" are read by default readers only: there is no BYOB reader.
'use strict';
(function (host) {
  const { asInterface, isBufferSource } = host.global('support');
  const MADE_HERE = {};
  const noop = () => {};
  let stateOf;
  let readerStateOf;
  let wrap;

  // ---- what all kinds of streams share ----

  function deferred() {
    const made = { pending: true };
    made.promise = new Promise((resolve, reject) => {
      made.resolve = (value) => {
        made.pending = false;
        resolve(value);
      };
      made.reject = (error) => {
        made.pending = false;
        reject(error);
      };
    });
    return made;
  }

  // Whoever listens to it will hear of it, and nobody has to.
  function handled(promise) {
    promise.then(noop, noop);
    return promise;
  }

  // A method of an underlying source, sink or transformer; null if there is none.
  function method(object, name, what) {
    const value = object?.[name];
    if (value === undefined) return null;
    if (typeof value !== 'function') throw new TypeError(`${what}: ${name} must be a function`);
    return (...args) => value.apply(object, args);
  }

  function called(run, ...args) {
    try {
      return Promise.resolve(run(...args));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function dictionary(value, what) {
    if (value === undefined || value === null) return {};
    if (typeof value !== 'object' && typeof value !== 'function') throw new TypeError(`${what} must be an object`);
    return value;
  }

  function highWaterMark(strategy, otherwise) {
    if (strategy.highWaterMark === undefined) return otherwise;
    const mark = Number(strategy.highWaterMark);
    if (!(mark >= 0)) throw new RangeError('highWaterMark must be a number from 0');
    return mark;
  }

  function sizeAlgorithm(strategy) {
    const { size } = strategy;
    if (size === undefined) return () => 1;
    if (typeof size !== 'function') throw new TypeError('size must be a function');
    return (chunk) => size(chunk);
  }

  // Chunks with their sizes, as controllers keep them.
  class Queue {
    #chunks = [];
    #first = 0;
    total = 0;

    get empty() {
      return this.#first === this.#chunks.length;
    }

    add(value, size) {
      const number = Number(size);
      if (!(number >= 0) || number === Infinity) throw new RangeError('the size of a chunk must be a finite number from 0');
      this.#chunks.push({ value, size: number });
      this.total += number;
    }

    peek() {
      return this.#chunks[this.#first].value;
    }

    take() {
      const { value, size } = this.#chunks[this.#first];
      this.#chunks[this.#first++] = undefined;
      if (this.#first > 32 && this.#first * 2 > this.#chunks.length) {
        this.#chunks = this.#chunks.slice(this.#first);
        this.#first = 0;
      }
      this.total = Math.max(0, this.total - size);
      return value;
    }

    clear() {
      this.#chunks = [];
      this.#first = 0;
      this.total = 0;
    }
  }

  // ---- the stream: {state, error, reader, disturbed, controller} ----

  function closeStream(stream) {
    stream.state = 'closed';
    const { reader } = stream;
    if (reader === null) return;
    const requests = reader.requests.splice(0);
    reader.closed.resolve(undefined);
    for (const request of requests) request.close();
  }

  function errorStream(stream, error) {
    stream.state = 'errored';
    stream.error = error;
    const { reader } = stream;
    if (reader === null) return;
    const requests = reader.requests.splice(0);
    reader.closed.reject(error);
    handled(reader.closed.promise);
    for (const request of requests) request.error(error);
  }

  function cancelStream(stream, reason) {
    stream.disturbed = true;
    if (stream.state === 'closed') return Promise.resolve(undefined);
    if (stream.state === 'errored') return Promise.reject(stream.error);
    closeStream(stream);
    const { controller } = stream;
    controller.queue.clear();
    const { cancel } = controller;
    forget(controller);
    return called(cancel, reason).then(noop);
  }

  // ---- the controller: {stream, queue, mark, size, pull, cancel, started, pulling, again, closing} ----

  // Its algorithms are not called any more; what they hold can be collected.
  function forget(controller) {
    controller.pull = noop;
    controller.cancel = noop;
    controller.size = null;
  }

  function desiredSize(controller) {
    const { state } = controller.stream;
    if (state === 'errored') return null;
    return state === 'closed' ? 0 : controller.mark - controller.queue.total;
  }

  const canEnqueue = (controller) => !controller.closing && controller.stream.state === 'readable';

  function shouldPull(controller) {
    if (!canEnqueue(controller) || !controller.started) return false;
    const { reader } = controller.stream;
    return (reader !== null && reader.requests.length > 0) || desiredSize(controller) > 0;
  }

  function pullIfNeeded(controller) {
    if (!shouldPull(controller)) return;
    if (controller.pulling) {
      controller.again = true;
      return;
    }
    controller.pulling = true;
    called(controller.pull).then(() => {
      controller.pulling = false;
      if (!controller.again) return;
      controller.again = false;
      pullIfNeeded(controller);
    }, (error) => errorController(controller, error));
  }

  function enqueue(controller, chunk) {
    const { reader } = controller.stream;
    if (reader !== null && reader.requests.length > 0) {
      reader.requests.shift().chunk(chunk);
    } else {
      try {
        controller.queue.add(chunk, controller.size(chunk));
      } catch (error) {
        errorController(controller, error);
        throw error;
      }
    }
    pullIfNeeded(controller);
  }

  function closeController(controller) {
    if (!canEnqueue(controller)) return;
    controller.closing = true;
    if (!controller.queue.empty) return;
    forget(controller);
    closeStream(controller.stream);
  }

  function errorController(controller, error) {
    if (controller.stream.state !== 'readable') return;
    controller.queue.clear();
    forget(controller);
    errorStream(controller.stream, error);
  }

  // Gives a request the next chunk, now or when there is one.
  function read(stream, request) {
    stream.disturbed = true;
    if (stream.state === 'closed') return request.close();
    if (stream.state === 'errored') return request.error(stream.error);
    const { controller } = stream;
    if (controller.queue.empty) {
      stream.reader.requests.push(request);
      return pullIfNeeded(controller);
    }
    const chunk = controller.queue.take();
    if (controller.closing && controller.queue.empty) {
      forget(controller);
      closeStream(stream);
    } else {
      pullIfNeeded(controller);
    }
    return request.chunk(chunk);
  }

  // `start` is called with the controller's object.
  function startController(stream, { start = noop, pull = noop, cancel = noop, mark = 1, size = () => 1, bytes = false }) {
    const controller = { stream, queue: new Queue(), mark, size, pull, cancel, started: false, pulling: false,
      again: false, closing: false, bytes };
    stream.controller = controller;
    controller.object = new ReadableStreamDefaultController(MADE_HERE, controller);
    const started = start(controller.object);
    Promise.resolve(started).then(() => {
      controller.started = true;
      pullIfNeeded(controller);
    }, (error) => errorController(controller, error));
    return controller;
  }

  const newState = () => ({ state: 'readable', error: undefined, reader: null, disturbed: false, controller: null });

  // A stream of the runtime's own.
  function make(algorithms) {
    const state = newState();
    startController(state, algorithms);
    return wrap(state);
  }

  class ReadableStreamDefaultController {
    #state;

    constructor(key, state) {
      if (key !== MADE_HERE) throw new TypeError('ReadableStreamDefaultController: a stream makes its own');
      this.#state = state;
    }

    get desiredSize() {
      return desiredSize(this.#state);
    }

    // Of streams of bytes: nobody lends a buffer.
    get byobRequest() {
      return this.#state.bytes ? null : undefined;
    }

    close() {
      if (!canEnqueue(this.#state)) throw new TypeError('the stream cannot be closed: it is closed or has failed');
      closeController(this.#state);
    }

    enqueue(chunk = undefined) {
      if (this.#state.bytes && !(ArrayBuffer.isView(chunk) && chunk.byteLength > 0)) {
        throw new TypeError('a chunk of a stream of bytes must be a view of at least one byte');
      }
      if (!canEnqueue(this.#state)) throw new TypeError('the stream takes no more chunks: it is closed or has failed');
      enqueue(this.#state, chunk);
    }

    error(error = undefined) {
      errorController(this.#state, error);
    }
  }

  // ---- readers ----

  function acquire(stream) {
    if (stream.reader !== null) throw new TypeError('the stream is locked to a reader already');
    const reader = { stream, requests: [], closed: deferred() };
    stream.reader = reader;
    if (stream.state === 'closed') reader.closed.resolve(undefined);
    if (stream.state === 'errored') {
      reader.closed.reject(stream.error);
      handled(reader.closed.promise);
    }
    return reader;
  }

  function release(reader) {
    const { stream } = reader;
    const error = new TypeError('the reader has been released');
    if (stream.state !== 'readable') reader.closed = deferred();
    reader.closed.reject(error);
    handled(reader.closed.promise);
    stream.reader = null;
    reader.stream = null;
    for (const request of reader.requests.splice(0)) request.error(error);
  }

  function readOnce(reader) {
    return new Promise((resolve, reject) => {
      read(reader.stream, {
        chunk: (value) => resolve({ value, done: false }),
        close: () => resolve({ value: undefined, done: true }),
        error: reject,
      });
    });
  }

  class ReadableStreamDefaultReader {
    #state;

    static {
      readerStateOf = (reader) => reader.#state;
    }

    constructor(stream) {
      if (!(stream instanceof ReadableStream)) throw new TypeError('ReadableStreamDefaultReader: a ReadableStream is needed');
      this.#state = acquire(stateOf(stream));
    }

    get closed() {
      return this.#state.closed.promise;
    }

    read() {
      if (this.#state.stream === null) return Promise.reject(new TypeError('the reader has been released'));
      return readOnce(this.#state);
    }

    cancel(reason = undefined) {
      if (this.#state.stream === null) return Promise.reject(new TypeError('the reader has been released'));
      return cancelStream(this.#state.stream, reason);
    }

    releaseLock() {
      if (this.#state.stream !== null) release(this.#state);
    }
  }

  // ---- two streams of one ----

  function tee(stream, copy = (chunk) => chunk) {
    const reader = acquire(stream);
    const branches = [];
    const cancelled = [false, false];
    const reasons = [undefined, undefined];
    const all = deferred();
    let reading = false;
    let again = false;

    function pull() {
      if (reading) {
        again = true;
        return;
      }
      reading = true;
      read(stream, {
        // Later, so that both branches see a failure of the copy at the same time.
        chunk: (chunk) => host.queueMicrotask(() => {
          again = false;
          let second = chunk;
          try {
            if (!cancelled[1]) second = copy(chunk);
          } catch (error) {
            for (const branch of branches) errorController(branch, error);
            all.resolve(cancelStream(stream, error));
            return;
          }
          if (!cancelled[0] && canEnqueue(branches[0])) enqueue(branches[0], chunk);
          if (!cancelled[1] && canEnqueue(branches[1])) enqueue(branches[1], second);
          reading = false;
          if (again) pull();
        }),
        close: () => {
          reading = false;
          branches.forEach((branch, i) => {
            if (!cancelled[i]) closeController(branch);
          });
          if (!cancelled[0] || !cancelled[1]) all.resolve(undefined);
        },
        error: () => {
          reading = false;
        },
      });
    }

    const branch = (i) => make({
      pull,
      cancel: (reason) => {
        cancelled[i] = true;
        reasons[i] = reason;
        if (cancelled[1 - i]) all.resolve(cancelStream(stream, reasons));
        return all.promise;
      },
    });
    const made = [branch(0), branch(1)];
    branches.push(...made.map((one) => stateOf(one).controller));
    reader.closed.promise.catch((error) => {
      for (const one of branches) errorController(one, error);
      if (!cancelled[0] || !cancelled[1]) all.resolve(undefined);
    });
    return made;
  }

  // ---- from a stream into another ----

  function pipe(source, sink, { preventClose, preventAbort, preventCancel, signal }) {
    const writable = host.global('writableParts');
    const reader = acquire(source);
    const writer = writable.acquire(sink);
    source.disturbed = true;
    const result = deferred();
    let ending = false;
    let lastWrite = Promise.resolve();
    let onAbort = null;

    function finish(failed, error) {
      writable.release(writer);
      release(reader);
      signal?.removeEventListener('abort', onAbort);
      if (failed) result.reject(error);
      else result.resolve(undefined);
    }

    // Ends the pipe after `action`, once what was read is written.
    function end(action, failed, error) {
      if (ending) return;
      ending = true;
      const written = sink.state === 'writable' && !writable.closing(sink) ? lastWrite : Promise.resolve();
      const act = () => {
        if (action === null) return finish(failed, error);
        return action().then(() => finish(failed, error), (problem) => finish(true, problem));
      };
      written.then(act, act);
    }

    // Whether one of the two ends has come to its own end.
    function check() {
      if (source.state === 'errored') {
        end(preventAbort ? null : () => writable.abort(sink, source.error), true, source.error);
      } else if (sink.state === 'errored') {
        end(preventCancel ? null : () => cancelStream(source, sink.error), true, sink.error);
      } else if (source.state === 'closed') {
        // A last write that fails is told, whether or not the sink is closed.
        const rest = () => (sink.state === 'errored' ? Promise.reject(sink.error) : Promise.resolve());
        end(preventClose ? rest : () => writable.closeIfOpen(sink), false);
      } else if (writable.closing(sink) || sink.state === 'closed') {
        const error = new TypeError('the stream that is written to has been closed');
        end(preventCancel ? null : () => cancelStream(source, error), true, error);
      }
      return ending;
    }

    function step() {
      if (ending || check()) return;
      writer.ready.promise.then(() => {
        if (ending || check()) return;
        read(source, {
          chunk: (chunk) => {
            lastWrite = handled(writable.write(writer, chunk));
            host.queueMicrotask(step);
          },
          close: check,
          error: check,
        });
      }, check);
    }

    if (signal) {
      onAbort = () => {
        const { reason } = signal;
        const actions = [];
        if (!preventAbort && sink.state === 'writable') actions.push(() => writable.abort(sink, reason));
        if (!preventCancel && source.state === 'readable') actions.push(() => cancelStream(source, reason));
        end(() => Promise.all(actions.map((action) => action())), true, reason);
      };
      if (signal.aborted) {
        onAbort();
        return result.promise;
      }
      signal.addEventListener('abort', onAbort);
    }
    reader.closed.promise.then(check, check);
    writer.closed.promise.then(check, check);
    step();
    return result.promise;
  }

  // ---- the interface ----

  function pipeOptions(options) {
    const { preventAbort, preventCancel, preventClose, signal } = dictionary(options, 'the options');
    if (signal !== undefined && !(signal instanceof host.global('AbortSignal'))) {
      throw new TypeError('signal must be an AbortSignal');
    }
    return { preventAbort: !!preventAbort, preventCancel: !!preventCancel, preventClose: !!preventClose, signal };
  }

  class ReadableStream {
    #state;

    static {
      stateOf = (stream) => stream.#state;
      wrap = (state) => new ReadableStream(MADE_HERE, state);
    }

    constructor(source = undefined, strategy = undefined) {
      if (source === MADE_HERE) {
        this.#state = strategy;
        return;
      }
      const from = dictionary(source, 'the underlying source');
      const how = dictionary(strategy, 'the queuing strategy');
      const bytes = from.type !== undefined;
      if (bytes && `${from.type}` !== 'bytes') throw new TypeError('type must be "bytes" or absent');
      if (bytes && how.size !== undefined) throw new RangeError('a stream of bytes has no size of its own');
      const size = bytes ? (chunk) => chunk.byteLength : sizeAlgorithm(how);
      const mark = highWaterMark(how, bytes ? 0 : 1);
      const state = newState();
      this.#state = state;
      const [start, pull, cancel] = ['start', 'pull', 'cancel'].map((name) => method(from, name, 'the underlying source'));
      startController(state, {
        start: start ?? noop,
        pull: pull === null ? noop : () => pull(state.controller.object),
        cancel: cancel ?? noop,
        mark,
        size,
        bytes,
      });
    }

    static from(iterable) {
      const iterator = iterable?.[Symbol.asyncIterator]?.() ?? iterable?.[Symbol.iterator]?.();
      if (typeof iterator !== 'object' || iterator === null) throw new TypeError('ReadableStream.from: the value cannot be iterated');
      const { next } = iterator;
      const stream = make({
        mark: 0,
        pull: async () => {
          const step = await next.call(iterator);
          if (typeof step !== 'object' || step === null) throw new TypeError('an iterator must give objects');
          if (step.done) closeController(stateOf(stream).controller);
          else enqueue(stateOf(stream).controller, await step.value);
        },
        cancel: async (reason) => {
          const ended = await iterator.return?.(reason);
          if (ended !== undefined && (typeof ended !== 'object' || ended === null)) {
            throw new TypeError('an iterator must give objects');
          }
        },
      });
      return stream;
    }

    get locked() {
      return this.#state.reader !== null;
    }

    cancel(reason = undefined) {
      if (this.locked) return Promise.reject(new TypeError('the stream is locked to a reader'));
      return cancelStream(this.#state, reason);
    }

    getReader(options = undefined) {
      const { mode } = dictionary(options, 'the options');
      if (mode === undefined) return new ReadableStreamDefaultReader(this);
      throw new TypeError('getReader: only default readers are here; leave out mode');
    }

    pipeThrough(pair, options = undefined) {
      const { readable, writable } = pair;
      if (!(readable instanceof ReadableStream)) throw new TypeError('pipeThrough: readable must be a ReadableStream');
      if (!(writable instanceof host.global('WritableStream'))) {
        throw new TypeError('pipeThrough: writable must be a WritableStream');
      }
      const how = pipeOptions(options);
      if (this.locked || writable.locked) throw new TypeError('pipeThrough: one of the streams is locked');
      handled(pipe(this.#state, host.global('writableParts').stateOf(writable), how));
      return readable;
    }

    pipeTo(writable, options = undefined) {
      try {
        if (!(writable instanceof host.global('WritableStream'))) throw new TypeError('pipeTo: a WritableStream is needed');
        const how = pipeOptions(options);
        if (this.locked || writable.locked) throw new TypeError('pipeTo: one of the streams is locked');
        return pipe(this.#state, host.global('writableParts').stateOf(writable), how);
      } catch (error) {
        return Promise.reject(error);
      }
    }

    tee() {
      return tee(this.#state);
    }

    values(options = undefined) {
      const keep = !!dictionary(options, 'the options').preventCancel;
      return new Values(acquire(this.#state), keep);
    }
  }
  Object.defineProperty(ReadableStream.prototype, Symbol.asyncIterator,
    { value: ReadableStream.prototype.values, writable: true, configurable: true });

  // What `for await` reads by: one step after the other.
  class Values {
    #reader;
    #keep;
    #last = Promise.resolve();
    #done = false;

    constructor(reader, keep) {
      this.#reader = reader;
      this.#keep = keep;
    }

    next() {
      return this.#after(async () => {
        if (this.#done) return { value: undefined, done: true };
        try {
          const step = await readOnce(this.#reader);
          if (step.done) this.#finish();
          return step;
        } catch (error) {
          this.#finish();
          throw error;
        }
      });
    }

    return(value = undefined) {
      return this.#after(async () => {
        if (!this.#done) {
          const cancelled = this.#keep ? undefined : cancelStream(this.#reader.stream, value);
          this.#finish();
          await cancelled;
        }
        return { value, done: true };
      });
    }

    #after(run) {
      this.#last = this.#last.then(run, run);
      return this.#last;
    }

    #finish() {
      this.#done = true;
      release(this.#reader);
    }
  }
  Object.setPrototypeOf(Values.prototype,
    Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})()))));

  // ---- queuing strategies ----

  class ByteLengthQueuingStrategy {
    #mark;

    constructor({ highWaterMark: mark }) {
      this.#mark = Number(mark);
    }

    get highWaterMark() {
      return this.#mark;
    }

    get size() {
      return byteLength;
    }
  }

  class CountQueuingStrategy {
    #mark;

    constructor({ highWaterMark: mark }) {
      this.#mark = Number(mark);
    }

    get highWaterMark() {
      return this.#mark;
    }

    get size() {
      return one;
    }
  }
  const byteLength = (chunk) => chunk.byteLength;
  const one = () => 1;

  // Branches of a body: what one reader does to its bytes, the other does not see.
  const copyOf = (chunk) => (isBufferSource(chunk) ? host.structuredClone(chunk, []) : chunk);

  return {
    ReadableStream: asInterface(ReadableStream),
    ReadableStreamDefaultReader: asInterface(ReadableStreamDefaultReader),
    ReadableStreamDefaultController: asInterface(ReadableStreamDefaultController),
    ByteLengthQueuingStrategy: asInterface(ByteLengthQueuingStrategy),
    CountQueuingStrategy: asInterface(CountQueuingStrategy),
    parts: {
      // For the other streams.
      Queue, deferred, handled, method, called, dictionary, highWaterMark, sizeAlgorithm,
      make,
      controllerOf: (stream) => stateOf(stream).controller,
      enqueue, closeController, errorController, canEnqueue, desiredSize,
      hasBackpressure: (controller) => !shouldPull(controller),
      isReadable: (stream) => stateOf(stream).state === 'readable',
      // For bodies.
      isDisturbed: (stream) => stateOf(stream).disturbed,
      teeCopying: (stream) => tee(stateOf(stream), copyOf),
    },
  };
})

// WritableStream with its writer and controller, as the standard has them.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  const { Queue, deferred, handled, method, called, dictionary, highWaterMark, sizeAlgorithm } = host.global('streamParts');
  const MADE_HERE = {};
  const CLOSE = {};
  const noop = () => {};
  let stateOf;
  let wrap;

  // ---- the stream: {state, error, writer, controller, requests, writing, close, closingNow, pending, pressure} ----
  //
  //   requests     of the chunks that are queued          writing      of the chunk that is being written
  //   close        of a close that was asked for          closingNow   of the one that the sink performs
  //   pending      an abort that waits for the sink        pressure     whether who writes had better wait

  const newState = () => ({ state: 'writable', error: undefined, writer: null, controller: null, requests: [],
    writing: null, close: null, closingNow: null, pending: null, pressure: false });

  const closing = (stream) => stream.close !== null || stream.closingNow !== null;

  function settleReady(writer, error) {
    if (!writer.ready.pending) writer.ready = deferred();
    writer.ready.reject(error);
    handled(writer.ready.promise);
  }

  function setPressure(stream, pressure) {
    const { writer } = stream;
    if (writer !== null && pressure !== stream.pressure) {
      if (pressure) writer.ready = deferred();
      else writer.ready.resolve(undefined);
    }
    stream.pressure = pressure;
  }

  function startErroring(stream, reason) {
    stream.state = 'erroring';
    stream.error = reason;
    if (stream.writer !== null) settleReady(stream.writer, reason);
    if (stream.writing === null && stream.closingNow === null && stream.controller.started) finishErroring(stream);
  }

  function finishErroring(stream) {
    stream.state = 'errored';
    const { controller } = stream;
    controller.queue.clear();
    for (const request of stream.requests.splice(0)) request.reject(stream.error);
    const abort = stream.pending;
    stream.pending = null;
    if (abort === null) return rejectClosed(stream);
    if (abort.wasErroring) {
      abort.reject(stream.error);
      return rejectClosed(stream);
    }
    const run = controller.abort;
    forget(controller);
    called(run, abort.reason).then(() => {
      abort.resolve(undefined);
      rejectClosed(stream);
    }, (error) => {
      abort.reject(error);
      rejectClosed(stream);
    });
  }

  function rejectClosed(stream) {
    if (stream.close !== null) {
      stream.close.reject(stream.error);
      stream.close = null;
    }
    if (stream.writer === null) return;
    stream.writer.closed.reject(stream.error);
    handled(stream.writer.closed.promise);
  }

  function fail(stream, error) {
    if (stream.state === 'writable') startErroring(stream, error);
    else finishErroring(stream);
  }

  function abort(stream, reason) {
    if (stream.state === 'closed' || stream.state === 'errored') return Promise.resolve(undefined);
    stream.controller.abortSignal(reason);
    if (stream.state === 'closed' || stream.state === 'errored') return Promise.resolve(undefined);
    if (stream.pending !== null) return stream.pending.promise;
    const wasErroring = stream.state === 'erroring';
    stream.pending = { ...deferred(), reason: wasErroring ? undefined : reason, wasErroring };
    const { promise } = stream.pending;
    if (!wasErroring) startErroring(stream, reason);
    return promise;
  }

  function close(stream) {
    if (stream.state === 'closed' || stream.state === 'errored') {
      return Promise.reject(new TypeError('the stream is closed or has failed'));
    }
    stream.close = deferred();
    const { promise } = stream.close;
    const { writer, controller } = stream;
    if (writer !== null && stream.pressure && stream.state === 'writable') writer.ready.resolve(undefined);
    controller.queue.add(CLOSE, 0);
    advance(controller);
    return promise;
  }

  // What a pipe does at the end of its source.
  function closeIfOpen(stream) {
    if (closing(stream) || stream.state === 'closed') return Promise.resolve(undefined);
    if (stream.state === 'errored') return Promise.reject(stream.error);
    return close(stream);
  }

  // ---- the controller: {stream, queue, mark, size, write, close, abort, started, signal, abortSignal} ----

  function forget(controller) {
    controller.write = noop;
    controller.close = noop;
    controller.abort = noop;
    controller.size = null;
  }

  const desired = (controller) => controller.mark - controller.queue.total;

  function errorIfNeeded(controller, error) {
    if (controller.stream.state === 'writable') errorController(controller, error);
  }

  function errorController(controller, error) {
    forget(controller);
    startErroring(controller.stream, error);
  }

  function advance(controller) {
    const { stream, queue } = controller;
    if (!controller.started || stream.writing !== null) return;
    if (stream.state === 'erroring') return finishErroring(stream);
    if (stream.state !== 'writable' || queue.empty) return;
    const next = queue.peek();
    if (next === CLOSE) performClose(controller);
    else performWrite(controller, next);
  }

  function performClose(controller) {
    const { stream } = controller;
    stream.closingNow = stream.close;
    stream.close = null;
    controller.queue.take();
    const run = controller.close;
    forget(controller);
    called(run).then(() => {
      stream.closingNow.resolve(undefined);
      stream.closingNow = null;
      if (stream.state === 'erroring') {
        stream.error = undefined;
        stream.pending?.resolve(undefined);
        stream.pending = null;
      }
      stream.state = 'closed';
      stream.writer?.closed.resolve(undefined);
    }, (error) => {
      stream.closingNow.reject(error);
      stream.closingNow = null;
      stream.pending?.reject(error);
      stream.pending = null;
      fail(stream, error);
    });
  }

  function performWrite(controller, chunk) {
    const { stream } = controller;
    stream.writing = stream.requests.shift();
    called(controller.write, chunk).then(() => {
      stream.writing.resolve(undefined);
      stream.writing = null;
      controller.queue.take();
      if (!closing(stream) && stream.state === 'writable') setPressure(stream, desired(controller) <= 0);
      advance(controller);
    }, (error) => {
      if (stream.state === 'writable') forget(controller);
      stream.writing.reject(error);
      stream.writing = null;
      fail(stream, error);
    });
  }

  function startController(stream, { start = noop, write = noop, close: end = noop, abort: stop = noop, mark = 1, size = () => 1 }) {
    const controller = { stream, queue: new Queue(), mark, size, write, close: end, abort: stop, started: false,
      signal: null, reason: undefined, aborted: false };
    controller.abortSignal = (reason) => {
      controller.aborted = true;
      controller.reason = reason;
      controller.signal?.[1](reason);
    };
    stream.controller = controller;
    controller.object = new WritableStreamDefaultController(MADE_HERE, controller);
    setPressure(stream, desired(controller) <= 0);
    const started = start(controller.object);
    Promise.resolve(started).then(() => {
      controller.started = true;
      advance(controller);
    }, (error) => {
      controller.started = true;
      fail(stream, error);
    });
  }

  // A stream of the runtime's own.
  function make(algorithms) {
    const state = newState();
    startController(state, algorithms);
    return wrap(state);
  }

  class WritableStreamDefaultController {
    #state;

    constructor(key, state) {
      if (key !== MADE_HERE) throw new TypeError('WritableStreamDefaultController: a stream makes its own');
      this.#state = state;
    }

    // Made when it is first asked for: few sinks do.
    get signal() {
      const state = this.#state;
      if (state.signal === null) {
        state.signal = host.global('newAbortSignal')();
        if (state.aborted) state.signal[1](state.reason);
      }
      return state.signal[0];
    }

    error(error = undefined) {
      errorIfNeeded(this.#state, error);
    }
  }

  // ---- writers ----

  function acquire(stream) {
    if (stream.writer !== null) throw new TypeError('the stream is locked to a writer already');
    const writer = { stream, closed: deferred(), ready: deferred() };
    stream.writer = writer;
    if (stream.state === 'writable') {
      if (closing(stream) || !stream.pressure) writer.ready.resolve(undefined);
    } else if (stream.state === 'closed') {
      writer.ready.resolve(undefined);
      writer.closed.resolve(undefined);
    } else {
      writer.ready.reject(stream.error);
      handled(writer.ready.promise);
      if (stream.state === 'errored') {
        writer.closed.reject(stream.error);
        handled(writer.closed.promise);
      }
    }
    return writer;
  }

  function release(writer) {
    const { stream } = writer;
    const error = new TypeError('the writer has been released');
    settleReady(writer, error);
    if (!writer.closed.pending) writer.closed = deferred();
    writer.closed.reject(error);
    handled(writer.closed.promise);
    stream.writer = null;
    writer.stream = null;
  }

  function write(writer, chunk) {
    const { stream } = writer;
    const { controller } = stream;
    let size = 1;
    try {
      if (controller.size !== null) size = controller.size(chunk);
    } catch (error) {
      errorIfNeeded(controller, error);
    }
    if (writer.stream !== stream) return Promise.reject(new TypeError('the writer has been released'));
    if (stream.state === 'errored') return Promise.reject(stream.error);
    if (closing(stream) || stream.state === 'closed') return Promise.reject(new TypeError('the stream is closed'));
    if (stream.state === 'erroring') return Promise.reject(stream.error);
    const request = deferred();
    stream.requests.push(request);
    try {
      controller.queue.add(chunk, size);
    } catch (error) {
      errorIfNeeded(controller, error);
      return request.promise;
    }
    if (!closing(stream) && stream.state === 'writable') setPressure(stream, desired(controller) <= 0);
    advance(controller);
    return request.promise;
  }

  const released = () => Promise.reject(new TypeError('the writer has been released'));

  class WritableStreamDefaultWriter {
    #state;

    constructor(stream) {
      if (!(stream instanceof WritableStream)) throw new TypeError('WritableStreamDefaultWriter: a WritableStream is needed');
      this.#state = acquire(stateOf(stream));
    }

    get closed() {
      return this.#state.closed.promise;
    }

    get ready() {
      return this.#state.ready.promise;
    }

    get desiredSize() {
      const { stream } = this.#state;
      if (stream === null) throw new TypeError('the writer has been released');
      if (stream.state === 'errored' || stream.state === 'erroring') return null;
      return stream.state === 'closed' ? 0 : desired(stream.controller);
    }

    write(chunk = undefined) {
      return this.#state.stream === null ? released() : write(this.#state, chunk);
    }

    close() {
      const { stream } = this.#state;
      if (stream === null) return released();
      return closing(stream) ? Promise.reject(new TypeError('the stream is being closed already')) : close(stream);
    }

    abort(reason = undefined) {
      return this.#state.stream === null ? released() : abort(this.#state.stream, reason);
    }

    releaseLock() {
      if (this.#state.stream !== null) release(this.#state);
    }
  }

  class WritableStream {
    #state;

    static {
      stateOf = (stream) => stream.#state;
      wrap = (state) => new WritableStream(MADE_HERE, state);
    }

    constructor(sink = undefined, strategy = undefined) {
      if (sink === MADE_HERE) {
        this.#state = strategy;
        return;
      }
      const to = dictionary(sink, 'the underlying sink');
      const how = dictionary(strategy, 'the queuing strategy');
      if (to.type !== undefined) throw new RangeError('the underlying sink must not have a type');
      const state = newState();
      this.#state = state;
      const [start, put, end, stop] =
        ['start', 'write', 'close', 'abort'].map((name) => method(to, name, 'the underlying sink'));
      startController(state, {
        start: start ?? noop,
        write: put === null ? noop : (chunk) => put(chunk, state.controller.object),
        close: end ?? noop,
        abort: stop ?? noop,
        size: sizeAlgorithm(how),
        mark: highWaterMark(how, 1),
      });
    }

    get locked() {
      return this.#state.writer !== null;
    }

    abort(reason = undefined) {
      if (this.locked) return Promise.reject(new TypeError('the stream is locked to a writer'));
      return abort(this.#state, reason);
    }

    close() {
      if (this.locked) return Promise.reject(new TypeError('the stream is locked to a writer'));
      return closing(this.#state) ? Promise.reject(new TypeError('the stream is being closed already')) : close(this.#state);
    }

    getWriter() {
      return new WritableStreamDefaultWriter(this);
    }
  }

  return {
    WritableStream: asInterface(WritableStream),
    WritableStreamDefaultWriter: asInterface(WritableStreamDefaultWriter),
    WritableStreamDefaultController: asInterface(WritableStreamDefaultController),
    parts: { stateOf: (stream) => stateOf(stream), make, acquire, release, write, abort, closeIfOpen, closing, errorIfNeeded, setPressure },
  };
})

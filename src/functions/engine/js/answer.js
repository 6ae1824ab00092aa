// Answers that are made bit by bit: what a function returns when that is a stream or an async generator, or a
// response with such a body.
'use strict';
(function (host) {
  const { base64Encode, bytesOf, isBufferSource, toUSVString } = host.global('support');
  // What goes to the server at once.
  const PIECE_BYTES = 65_536;
  // What is kept where nobody reads a stream as it is made. The result is cut to less.
  const KEPT_BYTES = 262_144;
  // For what a source does when it is cancelled.
  const CANCEL_MS = 1000;
  const EVENTS = 'text/event-stream';
  // As the engine counts them: at the end, whole, chunks, events.
  const CHUNKS = 2;
  const AS_EVENTS = 3;

  // ---- chunks as bytes ----

  function jsonOf(chunk) {
    const json = JSON.stringify(chunk);
    if (json === undefined) throw new TypeError('a chunk of the answer must be a string, bytes, or a value that JSON has');
    return json;
  }

  // A string is text, bytes are bytes, and any other value is a line of JSON.
  function plainBytes(chunk) {
    if (typeof chunk === 'string') return host.utf8Encode(toUSVString(chunk));
    if (isBufferSource(chunk)) return bytesOf(chunk);
    return host.utf8Encode(`${jsonOf(chunk)}\n`);
  }

  // The chunk as one event.
  function eventBytes(chunk) {
    let text;
    if (typeof chunk === 'string') text = toUSVString(chunk);
    else if (isBufferSource(chunk)) text = host.utf8Decode(bytesOf(chunk), false, true);
    else text = jsonOf(chunk);
    return host.utf8Encode(`data: ${text.replace(/\r\n?|\n/g, '\ndata: ')}\n\n`);
  }

  // The first chunk's bytes. One that cannot be sent ends its source.
  async function encoded(source, chunk) {
    try {
      return plainBytes(chunk);
    } catch (error) {
      await cancel(source, error);
      throw error;
    }
  }

  function typeOf(chunk) {
    if (typeof chunk === 'string') return 'text/plain;charset=UTF-8';
    return isBufferSource(chunk) ? 'application/octet-stream' : 'application/x-ndjson';
  }

  // ---- sources: {next() => promise of {value, done}, cancel(reason) => promise} ----

  function readerSource(stream) {
    const reader = stream.getReader();
    return { next: () => reader.read(), cancel: (reason) => reader.cancel(reason) };
  }

  function iteratorSource(iterable) {
    const iterator = iterable[Symbol.asyncIterator]();
    return {
      next: async () => iterator.next(),
      cancel: async () => iterator.return?.(),
    };
  }

  function sourceOf(value) {
    if (typeof value !== 'object' || value === null) return null;
    if (typeof value[Symbol.asyncIterator] !== 'function') return null;
    return value instanceof host.global('ReadableStream') ? readerSource(value) : iteratorSource(value);
  }

  const typed = (headers) => Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'content-type');

  // {head, source} of what a function has returned; null if it is no stream. `response` is what fetch.js
  // says of it.
  function find(value, response) {
    if (response) return { head: response.head, source: readerSource(response.stream) };
    const source = sourceOf(value);
    if (source) return { head: {}, source };
    const body = sourceOf(value.body);
    return body && { head: { ...value }, source: body };
  }

  // ---- reading ----

  // Up to `most` bytes, and whatever else the chunk that goes beyond has; the rest is cancelled.
  async function collect(source, first, most, toBytes) {
    const parts = [];
    let size = 0;
    for (let step = first ?? (await source.next()); !step.done; step = await source.next()) {
      const bytes = toBytes(step.value);
      parts.push(bytes.slice());
      size += bytes.length;
      if (size > most) {
        await cancel(source, new TypeError('the result is longer than what is kept of it'));
        break;
      }
    }
    return host.global('blobs').join(parts);
  }

  function readAll(stream, most) {
    return collect(readerSource(stream), null, most, (chunk) => {
      if (isBufferSource(chunk)) return bytesOf(chunk);
      if (typeof chunk === 'string') return host.utf8Encode(toUSVString(chunk));
      throw new TypeError('a chunk of a body must be bytes or a string');
    });
  }

  // Tells a source that nobody reads on, and waits for what it does then, if that does not take long.
  function cancel(source, reason) {
    return new Promise((resolve) => {
      const timer = host.setTimer(resolve, CANCEL_MS, false);
      const done = () => {
        host.clearTimer(timer);
        resolve();
      };
      Promise.resolve(source.cancel(reason)).then(done, (error) => {
        host.log('warn', `what the answer came from could not be cancelled: ${host.global('inspect')(error)}`);
        done();
      });
    });
  }

  // ---- sending ----

  // Whatever is waited for ends when nobody wants the answer any more.
  class Sender {
    #interrupt = null;
    #left;

    constructor() {
      this.#left = host.onAbort((message) => {
        this.#left = message;
        this.#interrupt?.();
      });
    }

    // Why nobody wants it; undefined while somebody does.
    get left() {
      return this.#left;
    }

    // The value of `promise`, or undefined if nobody wants the answer meanwhile.
    wait(promise) {
      if (this.#left !== undefined) return undefined;
      return new Promise((resolve, reject) => {
        this.#interrupt = () => resolve(undefined);
        promise.then(resolve, reject);
      });
    }

    async send(bytes) {
      for (let at = 0; at < bytes.length && this.#left === undefined; at += PIECE_BYTES) {
        const room = host.answerWrite(bytes.subarray(at, at + PIECE_BYTES));
        if (room !== undefined) await this.wait(room);
      }
    }
  }

  async function send(head, source, first, toBytes) {
    const sender = new Sender();
    host.answerBegin(head);
    try {
      let step = first ?? (await sender.wait(source.next()));
      while (step !== undefined && !step.done) {
        await sender.send(toBytes(step.value));
        step = await sender.wait(source.next());
      }
    } catch (error) {
      await cancel(source, error);
      throw error;
    }
    if (sender.left === undefined) host.answerEnd();
    else await cancel(source, new (host.global('DOMException'))(sender.left, 'AbortError'));
    return { ...head, body: '' };
  }

  // If `value` is an answer that comes bit by bit, a promise of the result that the engine takes: of the
  // whole answer where nobody reads along, and of its head where it has been sent, as it is or with each chunk
  // as an event, unless the function says itself what it is.
  function streamAnswer(value, mode, response) {
    const found = find(value, response);
    return found === null ? undefined : run(found, mode);
  }

  async function run({ head, source }, mode) {
    const own = typed(head.headers);
    const events = mode === AS_EVENTS && !own;
    const toBytes = events ? eventBytes : plainBytes;
    let first = null;
    if (!own) {
      let type = EVENTS;
      if (!events) {
        // The first chunk says what it is; its failure is that of the function.
        const sender = mode < CHUNKS ? null : new Sender();
        first = await (sender ? sender.wait(source.next()) : source.next());
        if (first === undefined) {
          await cancel(source, new (host.global('DOMException'))(sender.left, 'AbortError'));
          return { ...head, body: '' };
        }
        type = first.done ? 'text/plain;charset=UTF-8' : typeOf(first.value);
        if (!first.done) first = { done: false, value: await encoded(source, first.value) };
      }
      head = { ...head, headers: { ...head.headers, 'content-type': type } };
    }
    delete head.body;
    delete head.isBase64Encoded;
    if (mode >= CHUNKS) return send(head, source, first, toBytes);
    const bytes = first?.done ? new Uint8Array(0) : await collect(source, first, KEPT_BYTES, toBytes);
    return { ...head, body: base64Encode(bytes), isBase64Encoded: true };
  }

  return { streamAnswer, readAll };
})

'use strict';
const readAllOf = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
};
const turns = async (count = 20) => {
  for (let i = 0; i < count; i++) await null;
};

test('a source is pulled as its chunks are wanted', async () => {
  let pulls = 0;
  const stream = new ReadableStream({
    pull(controller) {
      controller.enqueue(++pulls);
      if (pulls === 5) controller.close();
    },
  }, { highWaterMark: 2 });
  await turns();
  check.equal(pulls, 2);
  const reader = stream.getReader();
  check.equal(await reader.read(), { value: 1, done: false });
  await turns();
  check.equal(pulls, 3);
  reader.releaseLock();
  check.equal(await readAllOf(stream), [2, 3, 4, 5]);
  check.equal([stream.locked, pulls], [false, 5]);
});

test('a failure of the source reaches the reader after the chunks before it were lost', async () => {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue('lost');
      controller.error(new RangeError('broken'));
    },
  });
  await check.rejects(stream.getReader().read(), 'RangeError', /broken/);
  await check.rejects(new ReadableStream({ pull() { throw new SyntaxError('x'); } }).getReader().read(), 'SyntaxError');
});

test('cancelling tells the source why', async () => {
  let reason = null;
  const stream = new ReadableStream({ cancel(why) { reason = why; } });
  await stream.cancel('enough');
  check.equal([reason, (await stream.getReader().read()).done], ['enough', true]);
});

test('a stream has one reader at a time', async () => {
  const stream = new ReadableStream();
  const reader = stream.getReader();
  check.throws(() => stream.getReader(), 'TypeError', /locked/);
  await check.rejects(stream.cancel(), 'TypeError', /locked/);
  const read = reader.read();
  reader.releaseLock();
  await check.rejects(read, 'TypeError', /released/);
  await check.rejects(reader.read(), 'TypeError', /released/);
  await check.rejects(reader.closed, 'TypeError', /released/);
  check.throws(() => stream.getReader({ mode: 'byob' }), 'TypeError', /default readers/);
});

test('leaving a loop cancels the stream, unless it was told not to', async () => {
  const reasons = [];
  const make = () => new ReadableStream({ pull(c) { c.enqueue(1); }, cancel() { reasons.push('cancelled'); } });
  for await (const chunk of make()) if (chunk) break;
  check.equal(reasons, ['cancelled']);
  const kept = make();
  for await (const chunk of kept.values({ preventCancel: true })) if (chunk) break;
  check.equal([reasons.length, kept.locked, (await kept.getReader().read()).value], [1, false, 1]);
});

test('two branches of a stream have the same chunks', async () => {
  const [a, b] = ReadableStream.from([1, 2, 3]).tee();
  check.equal(await Promise.all([readAllOf(a), readAllOf(b)]), [[1, 2, 3], [1, 2, 3]]);
  let reason;
  const [c, d] = new ReadableStream({ cancel(why) { reason = why; } }).tee();
  const first = c.cancel('c');
  await turns();
  check.equal(reason, undefined);
  await Promise.all([first, d.cancel('d')]);
  check.equal(reason, ['c', 'd']);
});

test('from takes iterables of both kinds and ends them', async () => {
  const log = [];
  async function* items() {
    try {
      yield 1;
      yield Promise.resolve(2);
      yield 3;
    } finally {
      log.push('ended');
    }
  }
  check.equal(await readAllOf(ReadableStream.from(items())), [1, 2, 3]);
  check.equal(log, ['ended']);
  for await (const one of ReadableStream.from(items())) if (one === 2) break;
  check.equal(log, ['ended', 'ended']);
  check.equal(await readAllOf(ReadableStream.from('abc')), ['a', 'b', 'c']);
  check.throws(() => ReadableStream.from(7), 'TypeError', /iterated/);
});

test('streams of bytes count bytes, and refuse other chunks', async () => {
  let controller;
  const stream = new ReadableStream({ type: 'bytes', start(c) { controller = c; } }, { highWaterMark: 10 });
  controller.enqueue(new Uint8Array(4));
  check.equal([controller.desiredSize, controller.byobRequest], [6, null]);
  check.throws(() => controller.enqueue('text'), 'TypeError');
  check.throws(() => controller.enqueue(new Uint8Array(0)), 'TypeError');
  controller.close();
  check.equal((await readAllOf(stream)).length, 1);
  check.throws(() => new ReadableStream({ type: 'lines' }), 'TypeError');
});

test('bad arguments are refused', () => {
  check.throws(() => new ReadableStream({ pull: 7 }), 'TypeError', /pull must be a function/);
  check.throws(() => new ReadableStream(null, { highWaterMark: -1 }), 'RangeError');
  check.throws(() => new ReadableStream({}, { highWaterMark: NaN }), 'RangeError');
  check.throws(() => new ReadableStream({}, { size: 1 }), 'TypeError');
  check.throws(() => new ReadableStreamDefaultController(), 'TypeError');
  check.throws(() => new WritableStream({ type: 'bytes' }), 'RangeError');
  check.throws(() => new TransformStream({ readableType: 'x' }), 'RangeError');
  check.throws(() => new ReadableStream({ start(c) { c.close(); c.enqueue(1); } }), 'TypeError');
});

test('a sink gets one chunk at a time, and who writes is told to wait', async () => {
  const log = [];
  let go;
  const stream = new WritableStream({
    write(chunk) {
      log.push(`write ${chunk}`);
      return new Promise((resolve) => { go = resolve; });
    },
    close() { log.push('close'); },
  }, { highWaterMark: 2 });
  const writer = stream.getWriter();
  check.equal(writer.desiredSize, 2);
  const first = writer.write(1);
  const second = writer.write(2);
  let ready = false;
  const isReady = writer.ready.then(() => { ready = true; });
  const closed = writer.close();
  await turns();
  check.equal([log, writer.desiredSize], [['write 1'], 0]);
  go();
  await first;
  await turns();
  check.equal(log, ['write 1', 'write 2']);
  go();
  await Promise.all([second, closed, isReady, writer.closed]);
  check.equal([log, ready], [['write 1', 'write 2', 'close'], true]);
  await check.rejects(writer.write(3), 'TypeError');
});

test('a failing sink fails what is written later', async () => {
  const writer = new WritableStream({ write() { throw new RangeError('full'); } }).getWriter();
  const [one, two] = [writer.write(1), writer.write(2)];
  await check.rejects(one, 'RangeError', /full/);
  await check.rejects(two, 'RangeError', /full/);
  await check.rejects(writer.closed, 'RangeError');
  await check.rejects(writer.ready, 'RangeError');
  check.equal(writer.desiredSize, null);
});

test('aborting tells the sink and its signal', async () => {
  let signal;
  let reason;
  const stream = new WritableStream({ start(c) { signal = c.signal; }, abort(why) { reason = why; } });
  const writer = stream.getWriter();
  const written = writer.write(1);
  await writer.abort('stop');
  check.equal([reason, signal.aborted, signal.reason], ['stop', true, 'stop']);
  check.equal(await written.catch((error) => error), 'stop');
});

test('pipes write everything, close, and pass failures on', async () => {
  const got = [];
  const sink = (more) => new WritableStream({ write(chunk) { got.push(chunk); }, ...more });
  await ReadableStream.from([1, 2, 3]).pipeTo(sink({ close() { got.push('closed'); } }));
  check.equal(got.splice(0), [1, 2, 3, 'closed']);

  let aborted;
  const failing = new ReadableStream({ start(c) { c.enqueue(1); }, pull(c) { c.error(new RangeError('x')); } }, { highWaterMark: 0 });
  await check.rejects(failing.pipeTo(sink({ abort(why) { aborted = why; } })), 'RangeError');
  check.equal(aborted.name, 'RangeError');

  let cancelled;
  const source = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(why) { cancelled = why; } });
  await check.rejects(source.pipeTo(sink({ write() { throw new SyntaxError('y'); } })), 'SyntaxError');
  check.equal([cancelled.name, source.locked], ['SyntaxError', false]);
});

test('a signal ends a pipe', async () => {
  const controller = new AbortController();
  const ends = [];
  const source = new ReadableStream({ cancel() { ends.push('cancelled'); } });
  const sink = new WritableStream({ abort() { ends.push('aborted'); } });
  const piped = source.pipeTo(sink, { signal: controller.signal });
  controller.abort(new RangeError('enough'));
  await check.rejects(piped, 'RangeError');
  check.equal(ends.sort(), ['aborted', 'cancelled']);
});

test('transforms change chunks, and their ends reach both sides', async () => {
  const doubled = new TransformStream({
    start(c) { c.enqueue('start'); },
    transform(chunk, c) { c.enqueue(chunk * 2); },
    flush(c) { c.enqueue('flush'); },
  });
  check.equal(await readAllOf(ReadableStream.from([1, 2]).pipeThrough(doubled)), ['start', 2, 4, 'flush']);

  const failing = new TransformStream({ transform() { throw new RangeError('z'); } });
  const writer = failing.writable.getWriter();
  const read = failing.readable.getReader().read();
  await check.rejects(writer.write(1), 'RangeError');
  await check.rejects(read, 'RangeError');

  const ended = new TransformStream({ transform(chunk, c) { c.terminate(); } });
  const to = ended.writable.getWriter();
  const from = ended.readable.getReader();
  const [step] = await Promise.all([from.read(), to.write(1).catch(() => {})]);
  check.equal(step.done, true);
  await check.rejects(to.write(2), 'TypeError', /terminated/);
  check.equal(await readAllOf(ReadableStream.from(['a']).pipeThrough(new TransformStream())), ['a']);
});

test('a transform holds back who writes until somebody reads', async () => {
  const stream = new TransformStream();
  const writer = stream.writable.getWriter();
  let written = 0;
  for (let i = 0; i < 3; i++) writer.write(i).then(() => { written++; });
  await turns();
  check.equal(written, 0);
  const reader = stream.readable.getReader();
  check.equal((await reader.read()).value, 0);
  await turns();
  check.equal(written, 1);
});

test('text goes to UTF-8 and back, whatever the pieces', async () => {
  const bytes = ReadableStream.from(['a\ud83d', '\ude00é', '\ud83d']).pipeThrough(new TextEncoderStream());
  const all = await readAllOf(bytes);
  check.equal(await new Response(ReadableStream.from(all)).text(), 'a😀é\ufffd');
  const utf8 = new TextEncoder().encode('é😀');
  const pieces = [...utf8].map((byte) => Uint8Array.of(byte));
  check.equal((await readAllOf(ReadableStream.from(pieces).pipeThrough(new TextDecoderStream()))).join(''), 'é😀');
});

test('strategies', () => {
  const bytes = new ByteLengthQueuingStrategy({ highWaterMark: 5 });
  check.equal([bytes.highWaterMark, bytes.size(new Uint8Array(3))], [5, 3]);
  const count = new CountQueuingStrategy({ highWaterMark: 2 });
  check.equal([count.highWaterMark, count.size('abc')], [2, 1]);
});

test('bodies can be streams, and give streams', async () => {
  const response = new Response(ReadableStream.from([Uint8Array.of(104), 'i']), { headers: { 'content-type': 'a/b' } });
  check.equal([response.bodyUsed, response.body instanceof ReadableStream], [false, true]);
  const copy = response.clone();
  check.equal([await response.text(), await copy.text(), response.bodyUsed], ['hi', 'hi', true]);
  await check.rejects(response.text(), 'TypeError', /read already/);
  check.equal([new Response().body, new Request('http://h').body], [null, null]);

  const bytes = new Response('abc');
  const reader = bytes.body.getReader();
  check.equal([(await reader.read()).value.length, bytes.bodyUsed], [3, true]);
  await check.rejects(bytes.text(), 'TypeError');

  const used = new Response('abc');
  await used.text();
  check.ok(used.body instanceof ReadableStream);
  await check.rejects(used.text(), 'TypeError');

  const locked = new ReadableStream();
  locked.getReader();
  check.throws(() => new Response(locked), 'TypeError', /locked/);
  await check.rejects(new Response(ReadableStream.from([7])).text(), 'TypeError', /bytes or a string/);
  async function* lines() {
    yield 'x';
    yield 'y';
  }
  check.equal(await new Response(lines()).text(), 'xy');
  check.equal(await new Response(new Blob(['blob']).stream()).text(), 'blob');
  const request = new Request('http://h', { method: 'POST', body: ReadableStream.from(['up']), duplex: 'half' });
  check.equal(await request.text(), 'up');
});

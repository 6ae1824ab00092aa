import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../src/index.js';
import { serverSentEvents } from '../src/events.js';
import { client, newQueue, url } from './support.js';

test('a stream is split into events however it arrives', async () => {
  const text = 'id: 1\nevent: a\ndata: {"x":1}\ndata: 2\n\n: comment\n\nid: 2\r\ndata: é\r\n\r\nid: 3\ndata: cut off';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 7, bytes.length]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    const events = [];
    for await (const event of serverSentEvents(body)) events.push(event);
    assert.deepEqual(events, [
      { id: '1', type: 'a', data: '{"x":1}\n2' },
      { id: '2', type: 'message', data: 'é' },
    ]);
  }
});

test('events of a queue are told in order, and again from where one was', async () => {
  const queue = newQueue('events');
  const stop = new AbortController();
  const told: string[] = [];
  const seqs: number[] = [];
  const following = (async () => {
    for await (const event of client.events({ queues: [queue], signal: stop.signal })) {
      told.push(event.type);
      seqs.push(event.seq);
      if (event.type === 'completed') break;
    }
  })();
  // The stream tells what comes after it was opened; a job tells when that is.
  while (told.length === 0) {
    await client.enqueue(queue);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const [job] = await client.fetchJobs({ queues: [queue], workerId: 'w' });
  await client.ack([{ jobId: job!.jobId, leaseToken: job!.leaseToken }]);
  await following;
  assert.deepEqual(told.filter((type) => type !== 'enqueued'), ['started', 'completed']);
  assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b));

  const again: string[] = [];
  for await (const event of client.events({ jobIds: [job!.jobId], after: 0 })) {
    again.push(event.type);
    if (event.type === 'completed') break;
  }
  assert.deepEqual(again, ['enqueued', 'started', 'completed']);
  const types: string[] = [];
  for await (const event of client.events({ queues: [queue], types: ['completed'], after: 0 })) {
    types.push(event.type);
    break;
  }
  assert.deepEqual(types, ['completed']);
});

test('a stream that breaks goes on where it was', async () => {
  const queue = newQueue('broken');
  let opened = 0;
  // Ends each stream after the first event it carries.
  const shaky = new Client({
    url,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes('/events')) return response;
      ++opened;
      const events = serverSentEvents(response.body!);
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { value, done } = await events.next();
          if (done) return controller.close();
          controller.enqueue(new TextEncoder().encode(
            `id: ${value.id}\nevent: ${value.type}\ndata: ${value.data}\n\n`));
          if (value.type !== 'position') {
            controller.close();
            await events.return(undefined);
          }
        },
      });
      return new Response(body, { headers: response.headers });
    },
  });
  await client.enqueueBatch([1, 2, 3].map((payload) => ({ queue, payload })));
  const seqs: number[] = [];
  for await (const event of shaky.events({ queues: [queue], after: 0 })) {
    seqs.push(event.seq);
    if (seqs.length === 3) break;
  }
  assert.equal(new Set(seqs).size, 3);
  assert.equal(opened, 3);
});

// Answers each request with a greeting and counts them.
//
// `event` is the request, as plain values; `ctx` says who asks, and how much time is left. `cs` is what
// Cairn offers: manifest.json must allow what is used of it. cs.d.ts has the types of all three.
import type { Handler } from './cs';

const handler: Handler = async (event, ctx) => {
  const name = new URLSearchParams(event.rawQueryString ?? '').get('name') ?? 'world';
  const count: number = ((await cs.kv.get<number>('greetings:count')) ?? 0) + 1;
  await cs.kv.set('greetings:count', count);
  console.log('greeting %d for %s', count, name);
  return Response.json({ hello: name, count, version: ctx.version });
};

export default handler;

import { CairnError } from './errors.js';
import { pause, type Transport } from './transport.js';
import type { EventFilter, JobEvent } from './types.js';
import { fromWire } from './wire.js';

export interface EventOptions extends EventFilter {
  /** Only events after this one; without it, those from now on. 0: everything that is kept. */
  after?: number;
  signal?: AbortSignal;
}

interface ServerSentEvent {
  id: string;
  type: string;
  data: string;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * The events of jobs, in the order in which they happened. Goes on where it was when the connection
 * breaks, until the loop is left or the signal aborted.
 */
export async function* followEvents(transport: Transport, options: EventOptions): AsyncGenerator<JobEvent> {
  const { signal } = options;
  const csv = (words: string[] | undefined) => (words?.length ? words.join(',') : undefined);
  const query = { queues: csv(options.queues), job_ids: csv(options.jobIds), types: csv(options.types) };
  let last = options.after;
  for (let failures = 0; !signal?.aborted; ++failures) {
    if (failures > 0) {
      try {
        await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)), signal);
      } catch {
        return;
      }
    }
    try {
      const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': String(last) };
      const response = await transport.open('/events', { query, headers, signal });
      for await (const event of serverSentEvents(response.body!)) {
        failures = 0;
        // Tells where the stream stands before the first event, so that nothing is missed if it breaks.
        last = Number(event.id);
        if (event.type === 'position') continue;
        const { atNs, ...rest } = fromWire<JobEvent & { atNs: number }>(JSON.parse(event.data));
        yield { ...rest, at: atNs / 1e6 };
      }
    } catch (error) {
      if (signal?.aborted) return;
      // What the server refuses now it refuses the next time too.
      if (error instanceof CairnError && error.status < 500 && error.status !== 429) throw error;
    }
  }
}

/** Splits a stream of text/event-stream into its events. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let event: ServerSentEvent = { id: '', type: 'message', data: '' };
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const lines = text.split(/\r?\n/);
      text = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (event.data !== '') yield { ...event, data: event.data.slice(0, -1) };
          event = { id: event.id, type: 'message', data: '' };
          continue;
        }
        const colon = line.indexOf(':');
        if (colon === 0) continue;  // a comment that keeps the connection alive
        const field = colon < 0 ? line : line.slice(0, colon);
        const rest = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'id') event.id = rest;
        else if (field === 'event') event.type = rest;
        else if (field === 'data') event.data += `${rest}\n`;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

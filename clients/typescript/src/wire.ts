// The server's JSON has snake_case names, this package camelCase ones. What the user put into a job is
// never touched: the names inside these fields are the user's.
import type { Duration } from './types.js';

const OPAQUE = new Set(['payload', 'result', 'progress', 'checkpoint', 'tags', 'data', 'callback_payload']);

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function rename(value: unknown, name: (from: string) => string, wire: (from: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, name, wire));
  if (value === null || typeof value !== 'object') return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    renamed[name(key)] = OPAQUE.has(wire(key)) ? member : rename(member, name, wire);
  }
  return renamed;
}

export const fromWire = <T>(value: unknown): T => rename(value, camel, (key) => key) as T;
export const toWire = (value: unknown): unknown => rename(prepare(value), snake, snake);

// The options that are spans of time.
const DURATIONS = new Set(['retryBaseDelay', 'retryMaxDelay', 'delay', 'expireAfter', 'timeout']);

export const durationText = (duration: Duration) =>
  typeof duration === 'number' ? `${Math.round(duration)}ms` : duration;

/** Dates and durations as the server reads them. */
function prepare(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const prepared: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member instanceof Date && !OPAQUE.has(snake(key))) prepared[key] = member.toISOString();
    else if (typeof member === 'number' && DURATIONS.has(key)) prepared[key] = durationText(member);
    else prepared[key] = member;
  }
  return prepared;
}

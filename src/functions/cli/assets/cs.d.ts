// Types of what Cairn gives to a function besides the web's own interfaces (fetch, Request, Response,
// URL, crypto.subtle, TextEncoder, timers, …). For those, name the library of web workers, which is the
// closest: {"compilerOptions": {"lib": ["es2023", "webworker"], "module": "esnext"}}.
//
//   import type { Handler } from './cs';
//   const handler: Handler = async (event, ctx) => ({ statusCode: 200, body: 'hello' });
//   export default handler;

/** What JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The event of a request over HTTP (`/v1/web/…`). The body is base64. */
export interface HttpEvent {
  version: '2.0';
  routeKey: string;
  rawPath: string;
  rawQueryString: string;
  /** Names in lower case, values of one name joined by commas. */
  headers: { [name: string]: string };
  requestContext: { http: { method: string; path: string } };
  body: string;
  isBase64Encoded: true;
}

/** What started the activation, and the details that kind of start has. */
export interface Trigger {
  type: 'http' | 'schedule' | 'cadence' | 'api';
  source?: { [name: string]: Json };
}

export interface Context {
  readonly activation_id: string;
  /** When the activation ends, whatever it is doing: milliseconds since 1970. */
  readonly deadline_ms: number;
  readonly tenant: string;
  readonly namespace: string;
  readonly function: string;
  readonly version: number;
  readonly ref: { alias?: string; version?: number };
  readonly trigger: Trigger;
  /** Who invoked the function. */
  readonly principal: { sub: string; roles: string[] };
  /** The version's environment and secrets. */
  readonly env: { readonly [name: string]: string };
  /** Milliseconds until the deadline, at least 0. */
  remainingMs(): number;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
}

/** An answer with a status. Any other value is sent as JSON; undefined and null as an empty body. */
export interface Answer {
  /** 100 to 599; 200 if absent. */
  statusCode?: number;
  headers?: { [name: string]: string };
  /** Each is a Set-Cookie header. */
  cookies?: string[];
  body?: string;
  /** Whether `body` is base64. */
  isBase64Encoded?: boolean;
}

export type Result = Answer | Response | Json | undefined | void;

export type Handler<Event = HttpEvent> = (event: Event, ctx: Context) => Result | Promise<Result>;

interface Log {
  debug(value: unknown): void;
  info(value: unknown): void;
  warn(value: unknown): void;
  error(value: unknown): void;
}

/** Keys of the function's namespace. The manifest says which prefixes and operations are open. */
interface Kv {
  /** The value, or null if there is none. */
  get<T = Json>(key: string): Promise<T | null>;
  set(key: string, value: unknown, options?: { ttlSeconds?: number }): Promise<void>;
  /** Whether there was a value. */
  del(key: string): Promise<boolean>;
}

interface Codeq {
  /** Sends a message to a topic that the manifest's `publishTopics` allows. */
  publish(topic: string, payload: unknown): Promise<{ id: string }>;
}

interface HttpReply {
  status: number;
  /** Names in lower case, values of one name joined by commas. */
  headers: { [name: string]: string };
  /** base64 */
  body: string;
  isBase64Encoded: true;
}

interface Http {
  /** As fetch, to hosts that the manifest's `allowHosts` names, with the answer as plain values. */
  fetch(
    url: string | URL,
    options?: {
      method?: string;
      headers?: { [name: string]: string } | [string, string][] | Headers;
      body?: string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | null;
      timeoutMs?: number;
    },
  ): Promise<HttpReply>;
}

interface Cadence {
  /**
   * Tells Cadence that the activity is still running. Only when Cadence started the activation. `cancelRequested`
   * says that Cadence wants the activity to end, or expects nothing of it any more.
   */
  heartbeat(details?: unknown): Promise<{ cancelRequested: boolean }>;
}

interface Jobs {
  /** Adds a job to a queue that the manifest's `publishTopics` allows. */
  enqueue(queue: string, payload: unknown, options?: { [name: string]: Json }): Promise<{ id: string; status: string }>;
}

interface Actors {
  /** Calls a method of an actor and gives what it returns. */
  call<T = Json>(type: string, id: string, method: string, argument?: unknown): Promise<T | null>;
}

declare global {
  const cs: {
    readonly log: Log;
    readonly kv: Kv;
    readonly codeq: Codeq;
    readonly http: Http;
    readonly cadence: Cadence;
    readonly jobs: Jobs;
    readonly actors: Actors;
  };

  interface SubtleCrypto {
    /** Whether two values of one length are equal, in a time that does not depend on where they differ. */
    timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
  }
}

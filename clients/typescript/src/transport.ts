import { CairnError, UnreachableError } from './errors.js';

export interface TransportOptions {
  /** Where the server's HTTP door is; `http://127.0.0.1:8080` unless given. */
  url?: string;
  /** Sent as `Authorization: Bearer`. A function is asked for each request, so that keys can change. */
  apiKey?: string | (() => string);
  /** How long one request may take, beyond what it asked the server to wait; 30 seconds unless given. */
  timeoutMs?: number;
  /** How often a request that can safely be repeated is repeated; 4 unless given. */
  retries?: number;
  /** For tests and proxies. */
  fetch?: typeof fetch;
}

export interface RequestOptions {
  body?: unknown;
  query?: Record<string, string | number | undefined>;
  signal?: AbortSignal | undefined;
  /** What the server was asked to wait. */
  waitMs?: number;
  /** Whether the request may be sent again when it is not known what became of it. */
  repeatable?: boolean;
}

const BASE = '/api/v1';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export class Transport {
  readonly #url: string;
  readonly #apiKey: TransportOptions['apiKey'];
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(options: TransportOptions = {}) {
    this.#url = (options.url ?? 'http://127.0.0.1:8080').replace(/\/+$/, '');
    this.#apiKey = options.apiKey;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 4;
    this.#fetch = options.fetch ?? fetch;
  }

  /** The JSON of the answer; undefined for one without a body. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<any> {
    for (let attempt = 0; ; ++attempt) {
      try {
        return await this.#once(method, path, options);
      } catch (error) {
        if (attempt >= this.#retries || options.signal?.aborted || !mayRepeat(error, options)) throw error;
        await pause(pauseBefore(attempt, error), options.signal);
      }
    }
  }

  /** The answer itself, for streams; the caller reads or cancels its body. */
  async open(path: string, options: RequestOptions & { headers?: Record<string, string> }): Promise<Response> {
    const response = await this.#send('GET', path, options, options.signal, options.headers);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async #once(method: string, path: string, options: RequestOptions): Promise<any> {
    const limit = AbortSignal.timeout(this.#timeoutMs + (options.waitMs ?? 0));
    const both = joined(limit, options.signal);
    try {
      const response = await this.#send(method, path, options, both.signal);
      if (!response.ok) throw await errorOf(response);
      const text = await body(response, options.signal);
      return text === '' ? undefined : JSON.parse(text);
    } finally {
      both.release();
    }
  }

  async #send(method: string, path: string, options: RequestOptions, signal: AbortSignal | undefined,
              headers: Record<string, string> = {}): Promise<Response> {
    const url = new URL(this.#url + BASE + path);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const key = typeof this.#apiKey === 'function' ? this.#apiKey() : this.#apiKey;
    const init: RequestInit = {
      method,
      headers: {
        ...headers,
        ...(key ? { Authorization: `Bearer ${key}` } : {}),
        ...(options.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(signal ? { signal } : {}),
    };
    try {
      return await this.#fetch(url, init);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new UnreachableError(`${method} ${url.pathname}: ${reason(error)}`, { cause: error });
    }
  }
}

async function body(response: Response, signal: AbortSignal | undefined): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw new UnreachableError(`the answer broke off: ${reason(error)}`, { cause: error });
  }
}

async function errorOf(response: Response): Promise<CairnError> {
  const text = await body(response, undefined);
  let code = `HTTP_${response.status}`;
  let message = text || response.statusText;
  try {
    const { error, code: given } = JSON.parse(text);
    // A refusal of the server itself, rather than of a route, has an object there.
    message = typeof error === 'string' ? error : error.message;
    code = given ?? error.code ?? code;
  } catch {
    // Not from Cairn: a proxy, say.
  }
  const after = Number(response.headers.get('Retry-After'));
  return new CairnError(response.status, code, message, after > 0 ? after * 1000 : undefined);
}

const reason = (error: unknown) => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
};

/** Whether trying again can help and cannot do the same thing twice. */
function mayRepeat(error: unknown, options: RequestOptions): boolean {
  if (error instanceof UnreachableError) return options.repeatable ?? false;
  if (!(error instanceof CairnError)) return false;
  if (error.status === 429) return error.retryAfterMs !== undefined;  // it was not done
  return error.status === 503 && (options.repeatable ?? false);
}

function pauseBefore(attempt: number, error: unknown): number {
  const own = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
  return error instanceof CairnError ? (error.retryAfterMs ?? own) : own;
}

/** Returns after `ms`; throws the signal's reason if it is aborted first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

// AbortSignal.any is not in Node 18.
function joined(limit: AbortSignal, given: AbortSignal | undefined) {
  if (!given) return { signal: limit, release: () => {} };
  const controller = new AbortController();
  const signals = [limit, given];
  const listeners = signals.map((signal) => () => controller.abort(signal.reason));
  signals.forEach((signal, i) => {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener('abort', listeners[i]!, { once: true });
  });
  const release = () => signals.forEach((signal, i) => signal.removeEventListener('abort', listeners[i]!));
  return { signal: controller.signal, release };
}

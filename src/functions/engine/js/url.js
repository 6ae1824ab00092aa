// URL and URLSearchParams as https://url.spec.whatwg.org has them. The standard walks a state machine
// character by character. This parser cuts off fragment and query first, which no later state can
// contain, and then handles authority and path as whole strings; functions keep the names of the
// states they stand for. Differential tests (test/url_differential.mjs) hold it to the standard.
'use strict';
(function (host) {
  const { asInterface, toUSVString, INSPECT } = host.global('support');

  const DEFAULT_PORTS = { 'http': 80, 'https': 443, 'ws': 80, 'wss': 443, 'ftp': 21, 'file': null };
  const isSpecial = (url) => Object.hasOwn(DEFAULT_PORTS, url.scheme);

  // What is percent-encoded where; each set adds to the one before. None has a character above ASCII, so
  // a run never splits a surrogate pair.
  const IN_CONTROL = /[^\x20-\x7e]+/g;
  const IN_FRAGMENT = /[^\x21\x23-\x3b\x3d\x3f-\x5f\x61-\x7e]+/g;
  const IN_QUERY = /[^\x21\x24-\x3b\x3d\x3f-\x7e]+/g;
  const IN_SPECIAL_QUERY = /[^\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]+/g;
  const IN_PATH = /[^\x21\x24-\x3b\x3d\x40-\x5d\x5f\x61-\x7a\x7c\x7e]+/g;
  const IN_USERINFO = /[^\x21\x24-\x2e\x30-\x39\x41-\x5a\x5f\x61-\x7a\x7e]+/g;
  const IN_FORM = /[^*\-._A-Za-z0-9]+/g;

  const FORBIDDEN_IN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
  const FORBIDDEN_IN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;
  const DRIVE_LETTER = /^[A-Za-z][:|]$/;
  const NORMAL_DRIVE_LETTER = /^[A-Za-z]:$/;
  const STARTS_WITH_DRIVE_LETTER = /^[A-Za-z][:|](?:$|[/\\?#])/;
  const SINGLE_DOT = /^(?:\.|%2e)$/i;
  const DOUBLE_DOT = /^(?:\.|%2e){2}$/i;

  const hex = (byte) => (byte < 16 ? '%0' : '%') + byte.toString(16).toUpperCase();

  function encodeBytes(text) {
    if (text.length === 1 && text.charCodeAt(0) < 128) return hex(text.charCodeAt(0));
    let out = '';
    for (const byte of host.utf8Encode(text)) out += hex(byte);
    return out;
  }

  const percentEncode = (text, set) => text.replace(set, encodeBytes);

  // Percent-decoded, then decoded as UTF-8 with U+FFFD for what is not.
  function percentDecode(text) {
    if (!text.includes('%')) return text;
    const bytes = host.utf8Encode(text);
    let end = 0;
    for (let i = 0; i < bytes.length; i++) {
      let byte = bytes[i];
      if (byte === 0x25 && i + 2 < bytes.length) {
        const digits = String.fromCharCode(bytes[i + 1], bytes[i + 2]);
        if (/^[0-9a-fA-F]{2}$/.test(digits)) {
          byte = parseInt(digits, 16);
          i += 2;
        }
      }
      bytes[end++] = byte;
    }
    return host.utf8Decode(bytes.subarray(0, end), false, true);
  }

  const withoutTabs = (text) => text.replace(/[\t\n\r]+/g, '');

  // ---- Hosts. Parsers return the host as it is written in a URL, or null where it is none. ----

  function parseHost(text, special) {
    if (text[0] === '[') {
      const address = text.endsWith(']') ? parseIPv6(text.slice(1, -1)) : null;
      return address && `[${writeIPv6(address)}]`;
    }
    if (!special) return FORBIDDEN_IN_HOST.test(text) ? null : percentEncode(text, IN_CONTROL);
    const domain = percentDecode(text);
    // For plain ASCII without Punycode, domain to ASCII is lower case and nothing else.
    const plain = /^[\0-\x7f]*$/.test(domain) && !/(?:^|\.)xn--/i.test(domain);
    const ascii = plain ? domain.toLowerCase() : host.domainToASCII(domain);
    if (!ascii || FORBIDDEN_IN_DOMAIN.test(ascii)) return null;
    return endsInNumber(ascii) ? parseIPv4(ascii) : ascii;
  }

  function endsInNumber(domain) {
    const parts = domain.split('.');
    if (parts[parts.length - 1] === '') {
      if (parts.length === 1) return false;
      parts.pop();
    }
    return /^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$/.test(parts[parts.length - 1]);
  }

  // NaN for what is no number.
  function parseIPv4Number(text) {
    if (/^0[xX][0-9A-Fa-f]*$/.test(text)) return text.length === 2 ? 0 : parseInt(text.slice(2), 16);
    if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
    return /^(?:0|[1-9][0-9]*)$/.test(text) ? parseInt(text, 10) : NaN;
  }

  function parseIPv4(text) {
    const parts = text.split('.');
    if (parts[parts.length - 1] === '' && parts.length > 1) parts.pop();
    if (parts.length > 4) return null;
    const numbers = parts.map(parseIPv4Number);
    const last = numbers.pop();
    if (!(last < 256 ** (4 - numbers.length)) || !numbers.every((n) => n <= 255)) return null;
    const address = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
  }

  // Eight numbers, or null.
  function parseIPv6(text) {
    const halves = text.split('::');
    if (halves.length > 2) return null;
    const head = parsePieces(halves[0], halves.length === 1);
    const tail = halves.length === 2 ? parsePieces(halves[1], true) : [];
    if (!head || !tail) return null;
    const missing = 8 - head.length - tail.length;
    if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
    return [...head, ...Array(missing).fill(0), ...tail];
  }

  // The pieces between colons; the last may be an IPv4 address if these pieces end the address.
  function parsePieces(text, mayEndInIPv4) {
    if (text === '') return [];
    const pieces = [];
    const words = text.split(':');
    for (const [i, word] of words.entries()) {
      if (/^[0-9A-Fa-f]{1,4}$/.test(word)) {
        pieces.push(parseInt(word, 16));
      } else if (mayEndInIPv4 && i === words.length - 1) {
        const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(word);
        const bytes = match && match.slice(1).map(Number);
        if (!bytes || bytes.some((byte) => byte > 255)) return null;
        pieces.push(bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]);
      } else {
        return null;
      }
    }
    return pieces;
  }

  // The first longest run of two or more zeros becomes "::".
  function writeIPv6(pieces) {
    let best = { at: -1, length: 1 };
    for (let at = 0; at < 8; at++) {
      let length = 0;
      while (at + length < 8 && pieces[at + length] === 0) length++;
      if (length > best.length) best = { at, length };
      at += length;
    }
    const text = (numbers) => numbers.map((n) => n.toString(16)).join(':');
    if (best.at < 0) return text(pieces);
    return `${text(pieces.slice(0, best.at))}::${text(pieces.slice(best.at + best.length))}`;
  }

  // ---- The record of a URL. `path` is an array of segments, or a string where it is opaque. ----

  const isOpaque = (url) => typeof url.path === 'string';
  const hasCredentials = (url) => url.username !== '' || url.password !== '';
  const cannotHavePort = (url) => url.host === null || url.host === '' || url.scheme === 'file';

  function newRecord(scheme) {
    return {
      scheme, username: '', password: '', host: null, port: null, path: [], query: null, fragment: null,
    };
  }

  // The record for `input`, or null.
  function parse(input, base) {
    const text = withoutTabs(input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, ''));
    const hash = text.indexOf('#');
    const fragment = hash < 0 ? null : percentEncode(text.slice(hash + 1), IN_FRAGMENT);
    const rest = hash < 0 ? text : text.slice(0, hash);
    const mark = rest.indexOf('?');
    const query = mark < 0 ? null : rest.slice(mark + 1);
    const main = mark < 0 ? rest : rest.slice(0, mark);

    const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(main);
    const url = scheme
      ? afterScheme(scheme[0].toLowerCase(), main.slice(scheme[0].length + 1), query, base)
      : noScheme(main, query, base, hash >= 0);
    if (!url) return null;
    url.fragment = fragment;
    // A space at the end of an opaque path would be lost if what follows it were taken away.
    if (isOpaque(url) && (mark >= 0 || hash >= 0)) url.path = url.path.replace(/ $/, '%20');
    return url;
  }

  function setQuery(url, query) {
    if (query !== null) url.query = percentEncode(query, isSpecial(url) ? IN_SPECIAL_QUERY : IN_QUERY);
    return url;
  }

  function afterScheme(scheme, main, query, base) {
    const url = newRecord(scheme);
    if (scheme === 'file') return fileState(main, query, base?.scheme === 'file' ? base : null);
    if (isSpecial(url)) {
      if (base?.scheme === scheme && !/^[/][/]/.test(main)) return relativeState(main, query, base);
      return authority(url, main.replace(/^[/\\]+/, ''), query);
    }
    if (main.startsWith('//')) return authority(url, main.slice(2), query);
    if (main.startsWith('/')) {
      pathState(url, main.slice(1));
    } else {
      url.path = percentEncode(main, IN_CONTROL);
    }
    return setQuery(url, query);
  }

  function noScheme(main, query, base, hasFragment) {
    if (!base) return null;
    if (isOpaque(base)) return main === '' && query === null && hasFragment ? { ...base } : null;
    if (base.scheme === 'file') return fileState(main, query, base);
    return relativeState(main, query, base);
  }

  function copyOf(base) {
    return { ...base, path: [...base.path], fragment: null };
  }

  // `base` has a path of segments. `main` may be empty: then it has only a query or a fragment.
  function relativeState(main, query, base) {
    const slash = isSpecial(base) ? /^[/\\]/ : /^[/]/;
    if (slash.test(main)) {
      if (slash.test(main.slice(1))) {
        const after = main.slice(2);
        return authority(newRecord(base.scheme), isSpecial(base) ? after.replace(/^[/\\]+/, '') : after, query);
      }
      const url = { ...copyOf(base), path: [], query: null };
      pathState(url, main.slice(1));
      return setQuery(url, query);
    }
    const url = copyOf(base);
    if (main !== '') {
      url.query = null;
      shorten(url);
      pathState(url, main);
    }
    return setQuery(url, query);
  }

  // A file URL without its scheme; `base` is a file URL or null.
  function fileState(main, query, base) {
    const url = { ...newRecord('file'), host: '' };
    if (/^[/\\]{2}/.test(main)) return fileHost(url, main.slice(2), query);
    if (/^[/\\]/.test(main)) {
      if (base) {
        url.host = base.host;
        const drive = NORMAL_DRIVE_LETTER.test(base.path[0]) && !STARTS_WITH_DRIVE_LETTER.test(main.slice(1));
        if (drive) url.path.push(base.path[0]);
      }
      pathState(url, main.slice(1));
      return setQuery(url, query);
    }
    if (base) {
      url.host = base.host;
      url.path = [...base.path];
      url.query = base.query;
      if (main === '') return setQuery(url, query);
      url.query = null;
      if (STARTS_WITH_DRIVE_LETTER.test(main)) {
        url.path = [];
      } else {
        shorten(url);
      }
    }
    pathState(url, main);
    return setQuery(url, query);
  }

  function fileHost(url, text, query) {
    const end = text.search(/[/\\]|$/);
    const name = text.slice(0, end);
    if (DRIVE_LETTER.test(name)) {
      pathState(url, text);  // no host but a drive: file://C:/
      return setQuery(url, query);
    }
    if (name !== '') {
      const parsed = parseHost(name, true);
      if (parsed === null) return null;
      url.host = parsed === 'localhost' ? '' : parsed;
    }
    pathState(url, text.slice(end + 1));
    return setQuery(url, query);
  }

  // What follows "//".
  function authority(url, text, query) {
    const special = isSpecial(url);
    const end = text.search(special ? /[/\\]|$/ : /[/]|$/);
    const name = text.slice(0, end);
    const at = name.lastIndexOf('@');
    if (at >= 0) {
      const [, username, password] = /^([^:]*):?([^]*)$/.exec(name.slice(0, at));
      url.username = percentEncode(username, IN_USERINFO);
      url.password = percentEncode(password, IN_USERINFO);
    }
    const [hostname, port] = splitPort(name.slice(at + 1));
    if (hostname === '' && (special || at >= 0 || port !== null)) return null;
    url.host = parseHost(hostname, special);
    if (url.host === null || (port !== null && !setPort(url, port))) return null;
    if (special || end < text.length) pathState(url, text.slice(end + 1));
    return setQuery(url, query);
  }

  // The text before the first colon that is not within brackets, and the text after it or null.
  function splitPort(text) {
    let inside = false;
    for (let i = 0; i < text.length; i++) {
      if (text[i] === '[') inside = true;
      if (text[i] === ']') inside = false;
      if (text[i] === ':' && !inside) return [text.slice(0, i), text.slice(i + 1)];
    }
    return [text, null];
  }

  // False if it is no port.
  function setPort(url, digits) {
    if (!/^[0-9]*$/.test(digits)) return false;
    const port = digits === '' ? null : Number(digits);
    if (port > 65535) return false;
    url.port = port === DEFAULT_PORTS[url.scheme] ? null : port;
    return true;
  }

  // Adds segments to the path, which `text` continues after a slash.
  function pathState(url, text) {
    const segments = text.split(isSpecial(url) ? /[/\\]/ : '/');
    const last = segments.length - 1;
    for (let i = 0; i <= last; i++) {
      const segment = segments[i];
      if (DOUBLE_DOT.test(segment)) {
        shorten(url);
        if (i === last) url.path.push('');
      } else if (SINGLE_DOT.test(segment)) {
        if (i === last) url.path.push('');
      } else if (url.scheme === 'file' && url.path.length === 0 && DRIVE_LETTER.test(segment)) {
        url.path.push(`${segment[0]}:`);
      } else {
        url.path.push(percentEncode(segment, IN_PATH));
      }
    }
  }

  function shorten(url) {
    const drive = url.scheme === 'file' && url.path.length === 1 && NORMAL_DRIVE_LETTER.test(url.path[0]);
    if (!drive) url.path.pop();
  }

  // ---- Writing ----

  const writePath = (url) => (isOpaque(url) ? url.path : url.path.map((segment) => `/${segment}`).join(''));
  const writeHost = (url) => (url.host ?? '') + (url.port === null ? '' : `:${url.port}`);

  function write(url) {
    let out = `${url.scheme}:`;
    if (url.host !== null) {
      out += '//';
      if (hasCredentials(url)) {
        out += `${url.username}${url.password === '' ? '' : `:${url.password}`}@`;
      }
      out += writeHost(url);
    } else if (!isOpaque(url) && url.path.length > 1 && url.path[0] === '') {
      out += '/.';  // so that a path of "//x" is not read as a host
    }
    out += writePath(url);
    if (url.query !== null) out += `?${url.query}`;
    if (url.fragment !== null) out += `#${url.fragment}`;
    return out;
  }

  function originOf(url) {
    if (url.scheme === 'blob') {
      const inner = isOpaque(url) ? parse(url.path, null) : null;
      return inner && /^https?$/.test(inner.scheme) ? originOf(inner) : 'null';
    }
    if (!isSpecial(url) || url.scheme === 'file') return 'null';
    return `${url.scheme}://${writeHost(url)}`;
  }

  // ---- Setters: each changes the record or leaves it as it is. ----

  function setProtocol(url, value) {
    const match = /^([A-Za-z][A-Za-z0-9+.-]*)(?::|$)/.exec(withoutTabs(value));
    if (!match) return;
    const scheme = match[1].toLowerCase();
    if (Object.hasOwn(DEFAULT_PORTS, scheme) !== isSpecial(url)) return;
    if (scheme === 'file' && (hasCredentials(url) || url.port !== null)) return;
    if (url.scheme === 'file' && url.host === '') return;
    url.scheme = scheme;
    if (url.port === DEFAULT_PORTS[scheme]) url.port = null;
  }

  // With or without a port.
  function setHost(url, value, withPort) {
    if (isOpaque(url)) return;
    const special = isSpecial(url);
    const text = withoutTabs(value).split(special ? /[/\\?#]/ : /[/?#]/)[0];
    const [hostname, port] = url.scheme === 'file' ? [text, null] : splitPort(text);
    if (port !== null && (hostname === '' || !withPort)) return;
    if (hostname === '' && url.scheme !== 'file' && (special || hasCredentials(url) || url.port !== null)) return;
    const parsed = hostname === '' ? '' : parseHost(hostname, special);
    if (parsed === null) return;
    url.host = url.scheme === 'file' && parsed === 'localhost' ? '' : parsed;
    const digits = port === null ? '' : /^[0-9]*/.exec(port)[0];
    if (digits !== '') setPort(url, digits);
  }

  function setPortFrom(url, value) {
    if (cannotHavePort(url)) return;
    if (value === '') {
      url.port = null;
      return;
    }
    const digits = /^[0-9]*/.exec(withoutTabs(value))[0];
    if (digits !== '') setPort(url, digits);
  }

  function setPathname(url, value) {
    if (isOpaque(url)) return;
    const text = withoutTabs(value);
    url.path = [];
    if (!isSpecial(url) && text === '') {
      if (url.host === null) url.path.push('');
      return;
    }
    pathState(url, text.replace(isSpecial(url) ? /^[/\\]/ : /^[/]/, ''));
  }

  function setSearch(url, value) {
    url.query = null;
    if (value !== '') setQuery(url, withoutTabs(value.replace(/^\?/, '')));
  }

  function setHash(url, value) {
    url.fragment = null;
    if (value !== '') url.fragment = percentEncode(withoutTabs(value.replace(/^#/, '')), IN_FRAGMENT);
  }

  // ---- URLSearchParams ----

  function readForm(text) {
    const decode = (word) => percentDecode(word.replace(/\+/g, ' '));
    return text.split('&').filter((pair) => pair !== '').map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return [decode(pair), ''];
      return [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
    });
  }

  const encodeFormRun = (run) => run.split(' ').map((part) => part && encodeBytes(part)).join('+');
  const encodeForm = (text) => text.replace(IN_FORM, encodeFormRun);
  const writeForm = (list) => list.map(([n, v]) => `${encodeForm(n)}=${encodeForm(v)}`).join('&');

  function pairsOf(init) {
    if ((typeof init !== 'object' || init === null) && typeof init !== 'function') {
      return readForm(toUSVString(init).replace(/^\?/, ''));
    }
    if (init[Symbol.iterator] != null) {
      return Array.from(init, (entry) => {
        const pair = Object(entry) === entry && entry[Symbol.iterator] ? [...entry] : [];
        if (pair.length !== 2) {
          throw new TypeError('URLSearchParams: each entry must be a pair of a name and a value');
        }
        return pair.map(toUSVString);
      });
    }
    // Names that differ only in lone surrogates are one name, whose last value counts.
    const record = new Map();
    for (const key of Reflect.ownKeys(init)) {
      const property = Reflect.getOwnPropertyDescriptor(init, key);
      if (property?.enumerable) record.set(toUSVString(key), toUSVString(init[key]));
    }
    return [...record];
  }

  function need(count, given, what) {
    if (given < count) {
      throw new TypeError(`${what}: ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present`);
    }
  }

  // Keeps its place while the list changes under it, as the standard asks.
  function* iterate(params, pick) {
    for (let i = 0; i < listOf(params).length; i++) yield pick(listOf(params)[i]);
  }

  let listOf;
  let attach;
  let replaceList;

  class URLSearchParams {
    #list;
    #url = null;  // the record that changes with the list, if it is a URL's

    static {
      listOf = (params) => params.#list;
      attach = (params, url) => {
        params.#url = url;
      };
      replaceList = (params, list) => {
        params.#list = list;
      };
    }

    constructor(init = '') {
      this.#list = pairsOf(init);
    }

    #update() {
      if (this.#url === null) return;
      const query = writeForm(this.#list);
      this.#url.query = query === '' ? null : query;
    }

    get size() {
      return this.#list.length;
    }

    append(name, value) {
      need(2, arguments.length, 'URLSearchParams.append');
      this.#list.push([toUSVString(name), toUSVString(value)]);
      this.#update();
    }

    delete(name, value = undefined) {
      need(1, arguments.length, 'URLSearchParams.delete');
      const wanted = toUSVString(name);
      const also = value === undefined ? undefined : toUSVString(value);
      this.#list = this.#list.filter(([n, v]) => n !== wanted || (also !== undefined && v !== also));
      this.#update();
    }

    get(name) {
      need(1, arguments.length, 'URLSearchParams.get');
      const wanted = toUSVString(name);
      const found = this.#list.find(([n]) => n === wanted);
      return found ? found[1] : null;
    }

    getAll(name) {
      need(1, arguments.length, 'URLSearchParams.getAll');
      const wanted = toUSVString(name);
      return this.#list.filter(([n]) => n === wanted).map(([, v]) => v);
    }

    has(name, value = undefined) {
      need(1, arguments.length, 'URLSearchParams.has');
      const wanted = toUSVString(name);
      const also = value === undefined ? undefined : toUSVString(value);
      return this.#list.some(([n, v]) => n === wanted && (also === undefined || v === also));
    }

    set(name, value) {
      need(2, arguments.length, 'URLSearchParams.set');
      const wanted = toUSVString(name);
      const pair = [wanted, toUSVString(value)];
      const at = this.#list.findIndex(([n]) => n === wanted);
      if (at < 0) {
        this.#list.push(pair);
      } else {
        this.#list[at] = pair;
        this.#list = this.#list.filter(([n], i) => i <= at || n !== wanted);
      }
      this.#update();
    }

    sort() {
      this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#update();
    }

    forEach(callback, self = undefined) {
      if (typeof callback !== 'function') {
        throw new TypeError('URLSearchParams.forEach: the callback must be a function');
      }
      for (const [name, value] of this) callback.call(self, value, name, this);
    }

    entries() {
      return iterate(this, ([name, value]) => [name, value]);
    }

    keys() {
      return iterate(this, ([name]) => name);
    }

    values() {
      return iterate(this, ([, value]) => value);
    }

    toString() {
      return writeForm(this.#list);
    }

    [INSPECT]() {
      return new Map(this.#list);
    }
  }
  asInterface(URLSearchParams);
  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
    value: URLSearchParams.prototype.entries,
    writable: true,
    configurable: true,
  });

  // ---- URL ----

  function parseWithBase(input, base) {
    const baseUrl = base === undefined ? null : parse(toUSVString(base), null);
    if (base !== undefined && !baseUrl) return null;
    return parse(toUSVString(input), baseUrl);
  }

  class URL {
    #url;
    #params = null;

    constructor(input, base = undefined) {
      need(1, arguments.length, 'URL');
      const url = parseWithBase(input, base);
      if (!url) {
        const against = base === undefined ? '' : ` with the base ${JSON.stringify(`${base}`)}`;
        throw new TypeError(`URL: ${JSON.stringify(`${input}`)} is not a valid URL${against}`);
      }
      this.#url = url;
    }

    static canParse(input, base = undefined) {
      need(1, arguments.length, 'URL.canParse');
      return parseWithBase(input, base) !== null;
    }

    static parse(input, base = undefined) {
      need(1, arguments.length, 'URL.parse');
      return URL.canParse(input, base) ? new URL(input, base) : null;
    }

    // The query was set: the parameters, if anybody holds them, follow.
    #queryChanged(text) {
      if (this.#params) replaceList(this.#params, readForm(text));
    }

    get href() {
      return write(this.#url);
    }

    set href(value) {
      const url = parse(toUSVString(value), null);
      if (!url) throw new TypeError(`URL.href: ${JSON.stringify(`${value}`)} is not a valid URL`);
      Object.assign(this.#url, url);
      this.#queryChanged(url.query ?? '');
    }

    get origin() {
      return originOf(this.#url);
    }

    get protocol() {
      return `${this.#url.scheme}:`;
    }

    set protocol(value) {
      setProtocol(this.#url, toUSVString(value));
    }

    get username() {
      return this.#url.username;
    }

    set username(value) {
      const text = toUSVString(value);
      if (!cannotHavePort(this.#url)) this.#url.username = percentEncode(text, IN_USERINFO);
    }

    get password() {
      return this.#url.password;
    }

    set password(value) {
      const text = toUSVString(value);
      if (!cannotHavePort(this.#url)) this.#url.password = percentEncode(text, IN_USERINFO);
    }

    get host() {
      return writeHost(this.#url);
    }

    set host(value) {
      setHost(this.#url, toUSVString(value), true);
    }

    get hostname() {
      return this.#url.host ?? '';
    }

    set hostname(value) {
      setHost(this.#url, toUSVString(value), false);
    }

    get port() {
      return this.#url.port === null ? '' : `${this.#url.port}`;
    }

    set port(value) {
      setPortFrom(this.#url, toUSVString(value));
    }

    get pathname() {
      return writePath(this.#url);
    }

    set pathname(value) {
      setPathname(this.#url, toUSVString(value));
    }

    get search() {
      return this.#url.query ? `?${this.#url.query}` : '';
    }

    set search(value) {
      const text = toUSVString(value);
      // The parameters keep tabs and line ends, which the query loses.
      if (text !== withoutTabs(text)) this.searchParams;
      setSearch(this.#url, text);
      this.#queryChanged(text.replace(/^\?/, ''));
    }

    get searchParams() {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        replaceList(this.#params, readForm(this.#url.query ?? ''));
        attach(this.#params, this.#url);
      }
      return this.#params;
    }

    get hash() {
      return this.#url.fragment ? `#${this.#url.fragment}` : '';
    }

    set hash(value) {
      setHash(this.#url, toUSVString(value));
    }

    toString() {
      return write(this.#url);
    }

    toJSON() {
      return write(this.#url);
    }

    [INSPECT]() {
      return write(this.#url);
    }
  }

  return { URL: asInterface(URL), URLSearchParams };
})

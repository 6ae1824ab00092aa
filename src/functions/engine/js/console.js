// console: each call is one entry of the activation's log.
'use strict';
(function (host) {
  const inspect = host.global('inspect');
  const MAX_LABELS = 1000;
  const MAX_INDENT = 40;
  const MAX_ROWS = 100;
  const counts = new Map();
  const timers = new Map();
  let indent = '';

  function write(level, text) {
    host.log(level, indent === '' ? text : indent + text.replaceAll('\n', `\n${indent}`));
  }

  const at = (level) => (...args) => write(level, inspect.format(args));
  const nameOf = (label) => `${label === undefined ? 'default' : label}`;

  // Labels are the function's to choose, so their number is ours to bound.
  function remember(map, label, value) {
    if (map.size < MAX_LABELS || map.has(label)) map.set(label, value);
  }

  function duration(label) {
    const ms = host.monotonicMs() - timers.get(label);
    return `${label}: ${ms < 1000 ? `${ms.toFixed(3)}ms` : `${(ms / 1000).toFixed(3)}s`}`;
  }

  function rowsOf(data) {
    if (data instanceof Map || data instanceof Set) return [...data].map((row, i) => [String(i), row]);
    return Object.keys(data).map((key) => [key, data[key]]);
  }

  function tableText(data, columns) {
    const rows = rowsOf(data).slice(0, MAX_ROWS);
    const isRecord = (row) => typeof row === 'object' && row !== null;
    const names = columns ?? [...new Set(rows.flatMap(([, row]) => (isRecord(row) ? Object.keys(row) : [])))];
    const hasValues = !columns && rows.some(([, row]) => !isRecord(row));
    const lines = rows.map(([key, row]) => [
      key,
      ...names.map((name) => (isRecord(row) && Object.hasOwn(row, name) ? inspect(row[name]) : '')),
      ...(hasValues ? [isRecord(row) ? '' : inspect(row)] : []),
    ]);
    const all = [['(index)', ...names.map(String), ...(hasValues ? ['Values'] : [])], ...lines];
    const widths = all[0].map((_, i) => Math.max(...all.map((line) => line[i].length)));
    const line = (cells) => `│ ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' │ ')} │`;
    const rule = (left, middle, right) =>
      left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right;
    return [rule('┌', '┬', '┐'), line(all[0]), rule('├', '┼', '┤'), ...all.slice(1).map(line),
      rule('└', '┴', '┘')].join('\n');
  }

  return {
    log: at('info'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    debug: at('debug'),
    trace(...args) {
      const stack = `${new Error('').stack}`.split('\n').filter((line) => line !== '').slice(1);
      write('debug', [`Trace: ${inspect.format(args)}`, ...stack.map((line) => `    ${line.trim()}`)].join('\n'));
    },
    assert(condition, ...args) {
      if (condition) return;
      const [first, ...rest] = args;
      if (typeof first === 'string') {
        write('error', inspect.format([`Assertion failed: ${first}`, ...rest]));
      } else {
        write('error', inspect.format(['Assertion failed', ...args]));
      }
    },
    count(label) {
      const name = nameOf(label);
      const count = (counts.get(name) ?? 0) + 1;
      remember(counts, name, count);
      write('info', `${name}: ${count}`);
    },
    countReset(label) {
      counts.delete(nameOf(label));
    },
    time(label) {
      remember(timers, nameOf(label), host.monotonicMs());
    },
    timeLog(label, ...args) {
      const name = nameOf(label);
      if (timers.has(name)) write('info', inspect.format([duration(name), ...args]));
    },
    timeEnd(label) {
      const name = nameOf(label);
      if (timers.has(name)) write('info', duration(name));
      timers.delete(name);
    },
    group(...args) {
      if (args.length > 0) write('info', inspect.format(args));
      if (indent.length < MAX_INDENT) indent += '  ';
    },
    groupCollapsed(...args) {
      this.group(...args);
    },
    groupEnd() {
      indent = indent.slice(2);
    },
    table(data, columns) {
      if (typeof data !== 'object' || data === null) {
        write('info', inspect.format([data]));
      } else {
        write('info', tableText(data, columns));
      }
    },
    dir: (value) => write('info', inspect(value)),
    dirxml: at('info'),
  };
})

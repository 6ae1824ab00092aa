// Event, CustomEvent and EventTarget. There is no tree, so events neither capture nor bubble.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  let begin;
  let end;
  let stoppedAll;

  class Event {
    #type;
    #bubbles;
    #cancelable;
    #composed;
    #canceled = false;
    #stopped = false;
    #passive = false;
    #target = null;
    #running = false;
    #timeStamp = host.monotonicMs();

    static {
      begin = (event, target, passive) => {
        event.#target = target;
        event.#running = true;
        event.#passive = passive;
      };
      end = (event) => {
        event.#running = false;
        event.#passive = false;
        event.#stopped = false;
      };
      stoppedAll = (event) => event.#stopped;
      for (const [name, value] of Object.entries({ NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 })) {
        Object.defineProperty(Event, name, { value, enumerable: true });
        Object.defineProperty(Event.prototype, name, { value, enumerable: true });
      }
    }

    constructor(type, init = {}) {
      if (arguments.length === 0) throw new TypeError('Event: 1 argument required');
      this.#type = `${type}`;
      this.#bubbles = Boolean(init?.bubbles);
      this.#cancelable = Boolean(init?.cancelable);
      this.#composed = Boolean(init?.composed);
    }

    get type() {
      return this.#type;
    }

    get bubbles() {
      return this.#bubbles;
    }

    get cancelable() {
      return this.#cancelable;
    }

    get composed() {
      return this.#composed;
    }

    get defaultPrevented() {
      return this.#canceled;
    }

    get target() {
      return this.#target;
    }

    get srcElement() {
      return this.#target;
    }

    get currentTarget() {
      return this.#running ? this.#target : null;
    }

    get eventPhase() {
      return this.#running ? Event.AT_TARGET : Event.NONE;
    }

    get timeStamp() {
      return this.#timeStamp;
    }

    get isTrusted() {
      return false;
    }

    get cancelBubble() {
      return this.#stopped;
    }

    get returnValue() {
      return !this.#canceled;
    }

    composedPath() {
      return this.#running ? [this.#target] : [];
    }

    preventDefault() {
      if (this.#cancelable && !this.#passive) this.#canceled = true;
    }

    stopPropagation() {}

    stopImmediatePropagation() {
      this.#stopped = true;
    }
  }

  class CustomEvent extends Event {
    #detail;

    constructor(type, init = {}) {
      super(type, init);
      this.#detail = init?.detail ?? null;
    }

    get detail() {
      return this.#detail;
    }
  }

  function call(listener, target, event) {
    try {
      if (typeof listener === 'function') {
        listener.call(target, event);
      } else {
        listener.handleEvent(event);
      }
    } catch (error) {
      // As in browsers: what a listener throws reaches neither other listeners nor the caller.
      host.log('error', `a listener of "${event.type}" threw: ${host.global('inspect')(error)}`);
    }
  }

  class EventTarget {
    #listeners = [];

    addEventListener(type, callback, options = {}) {
      if (arguments.length < 2) throw new TypeError('addEventListener: 2 arguments required');
      const settings = typeof options === 'object' && options !== null ? options : { capture: options };
      const { once, passive, signal } = settings;
      if (callback === null || callback === undefined) return;
      if (typeof callback !== 'function' && typeof callback !== 'object') {
        throw new TypeError('addEventListener: the listener must be a function or an object');
      }
      if (signal?.aborted) return;
      const name = `${type}`;
      const capture = Boolean(settings.capture);
      if (this.#find(name, callback, capture)) return;
      const listener = { type: name, callback, capture, once: Boolean(once), passive: Boolean(passive), gone: false };
      this.#listeners.push(listener);
      signal?.addEventListener('abort', () => this.#remove(listener), { once: true });
    }

    removeEventListener(type, callback, options = {}) {
      if (arguments.length < 2) throw new TypeError('removeEventListener: 2 arguments required');
      const capture = Boolean(typeof options === 'object' && options !== null ? options.capture : options);
      const listener = this.#find(`${type}`, callback, capture);
      if (listener) this.#remove(listener);
    }

    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeError('dispatchEvent: the argument must be an Event');
      if (event.eventPhase !== Event.NONE) {
        const DOMException = host.global('DOMException');
        throw new DOMException('dispatchEvent: the event is being dispatched', 'InvalidStateError');
      }
      for (const listener of this.#listeners.filter(({ type }) => type === event.type)) {
        if (listener.gone) continue;
        if (listener.once) this.#remove(listener);
        begin(event, this, listener.passive);
        call(listener.callback, this, event);
        if (stoppedAll(event)) break;
      }
      begin(event, this, false);
      end(event);
      return !event.defaultPrevented;
    }

    #find(type, callback, capture) {
      return this.#listeners.find((one) => one.type === type && one.callback === callback && one.capture === capture);
    }

    #remove(listener) {
      listener.gone = true;
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    }
  }

  // The attribute `on<type>` of a class: a function that listens.
  function defineHandler(constructor, type) {
    const handlers = new WeakMap();
    Object.defineProperty(constructor.prototype, `on${type}`, {
      configurable: true,
      enumerable: true,
      get() {
        return handlers.get(this)?.value ?? null;
      },
      set(value) {
        const old = handlers.get(this);
        if (old) this.removeEventListener(type, old.listener);
        handlers.delete(this);
        if (typeof value !== 'function') return;
        const listener = (event) => value.call(this, event);
        handlers.set(this, { value, listener });
        this.addEventListener(type, listener);
      },
    });
  }

  return {
    Event: asInterface(Event),
    CustomEvent: asInterface(CustomEvent),
    EventTarget: asInterface(EventTarget),
    defineHandler,
  };
})

// While one question is under way only the newest of those that come is kept: a fast typist never makes a queue, and an
// old answer never takes the place of a newer one.

/** How long an answer is waited for, in milliseconds, once a newer question is there. */
const PATIENCE = 250;

/** After how long what is shown is marked as that of an older question. */
const SOON = 200;

export class Latest {
  #ask;
  #show;
  #fail;
  #newest = 0;
  #shown = 0;
  #waits;
  #slow = 0;
  #waiting = null;
  #running = null;

  /** `ask(question, signal)` promises an answer; `show(answer, question)` gets those that are not out of date; `waits` is
   * told when the newest question goes unanswered for a moment, and when that is over. */
  constructor(ask, show, fail, waits = () => {}) {
    this.#ask = ask;
    this.#show = show;
    this.#fail = fail;
    this.#waits = waits;
  }

  request(question) {
    this.#waiting = { question, number: ++this.#newest };
    this.#slow ||= setTimeout(() => this.#waits(true), SOON);
    if (!this.#running) this.#next();
    else this.#hurry(this.#running);
  }

  /** Forget what is under way. */
  cancel() {
    this.#newest += 1;
    this.#shown = this.#newest;
    this.#waiting = null;
    this.#running?.abort();
    this.#answered();
  }

  #answered() {
    clearTimeout(this.#slow);
    this.#slow = 0;
    this.#waits(false);
  }

  #hurry(running) {
    const left = PATIENCE - (performance.now() - running.since);
    clearTimeout(running.timer);
    running.timer = setTimeout(() => running.abort(), Math.max(0, left));
  }

  async #next() {
    const { question, number } = this.#waiting;
    this.#waiting = null;
    const running = new AbortController();
    running.since = performance.now();
    this.#running = running;
    try {
      const answer = await this.#ask(question, running.signal);
      if (number > this.#shown) {
        this.#shown = number;
        if (number === this.#newest) this.#answered();
        this.#show(answer, question);
      }
    } catch (error) {
      if (error.name !== "AbortError" && number === this.#newest) {
        this.#answered();
        this.#fail(error, question);
      }
    } finally {
      clearTimeout(running.timer);
      this.#running = null;
      if (this.#waiting) this.#next();
    }
  }
}

import type { Streams } from './output';

const EVERY_MS = 200;
const CLEAR = '\r\u001b[K';

/** A progress display for long work. */
export interface ProgressOptions {
  /** The total amount, if known. */
  readonly total?: number;
  readonly now?: () => number;
  /** Called at every step; throws if the work should stop. */
  readonly check?: () => void;
}

/** Shows progress on one line of a terminal and removes it at the end. Without a terminal, shows nothing. */
export class Progress {
  private readonly begunMs: number;
  private readonly now: () => number;
  /** Whether there is a terminal. */
  readonly isSeen: boolean;
  private shownMs: number;
  private isShown = false;

  constructor(
    private readonly streams: Streams,
    private readonly what: string,
    private readonly unit: string,
    private readonly options: ProgressOptions = {},
  ) {
    this.now = options.now ?? Date.now;
    this.begunMs = this.now();
    this.shownMs = this.begunMs;
    // A terminal that cannot erase lines would fill with them.
    this.isSeen = streams.terminal?.err === true && streams.env?.TERM !== 'dumb';
  }

  /** Reports the progress, which is shown from time to time. */
  at(done: number, what = this.what): void {
    this.options.check?.();
    const nowMs = this.now();
    // New work is shown immediately, before there is a rate.
    const isDue = nowMs - this.shownMs >= EVERY_MS || (done === 0 && !this.isShown);
    if (!this.isSeen || !isDue) return;
    this.shownMs = nowMs;
    this.isShown = true;
    const text = describeProgress(what, this.unit, done, this.options.total, nowMs - this.begunMs);
    // Text that wraps to a second line could not be erased.
    this.streams.err(`${CLEAR}${text.slice(0, (this.streams.columns?.() ?? 80) - 1)}`);
  }

  /** Removes the line, at the end or to make room; the next step shows it again. */
  end(): void {
    if (this.isShown) this.streams.err(CLEAR);
    this.isShown = false;
  }
}

/** The progress, the rate and the remaining time. */
function describeProgress(
  what: string,
  unit: string,
  done: number,
  total: number | undefined,
  elapsedMs: number,
): string {
  if (done === 0) return total ? `${what}: 0 of ${amount(total, unit)}` : what;
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = `${amount(perSecond, unit === 'bytes' ? unit : '', perSecond < 10 ? 1 : 0)}/s`;
  // An estimated total may turn out to be too low.
  if (!total || done > total) return `${what}: ${amount(done, unit)}, ${rate}`;
  const share = `${Math.floor((100 * done) / total)} %`;
  const remaining = perSecond > 0 ? `, ${duration((total - done) / perSecond)} left` : '';
  return `${what}: ${share}, ${amount(done, unit === 'bytes' ? unit : '')} of ${amount(total, unit)}, ${rate}${remaining}`;
}

function amount(value: number, unit: string, digits = 0): string {
  if (unit !== 'bytes') return `${Number(value.toFixed(digits))} ${unit}`.trimEnd();
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${(value / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

import type { Streams } from './output';

const EVERY_MS = 200;
const CLEAR = '\r\u001b[K';

/** How long work is watched. */
export interface ProgressOptions {
  /** How much there is, as far as known. */
  readonly total?: number;
  readonly now?: () => number;
  /** Asked at every step; throws where the work is to end. */
  readonly check?: () => void;
}

/** Shows a person on a terminal how far something is, on one line that is gone at its end. Without a terminal, nothing. */
export class Progress {
  private readonly begunMs: number;
  private readonly now: () => number;
  /** Whether a person looks. */
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
    // A terminal that cannot take a line away would fill with them.
    this.isSeen = streams.terminal?.err === true && streams.env?.TERM !== 'dumb';
  }

  /** Tells how much is done, and of what; from time to time it is shown. */
  at(done: number, what = this.what): void {
    this.options.check?.();
    const nowMs = this.now();
    // What has just begun is named at once, before there is a rate.
    const isDue = nowMs - this.shownMs >= EVERY_MS || (done === 0 && !this.isShown);
    if (!this.isSeen || !isDue) return;
    this.shownMs = nowMs;
    this.isShown = true;
    const text = describeProgress(what, this.unit, done, this.options.total, nowMs - this.begunMs);
    // What goes on in a second line could not be taken away.
    this.streams.err(`${CLEAR}${text.slice(0, (this.streams.columns?.() ?? 80) - 1)}`);
  }

  /** Takes the line away, for its end or to make room; the next step shows it again. */
  end(): void {
    if (this.isShown) this.streams.err(CLEAR);
    this.isShown = false;
  }
}

/** How far something is, at what rate, and how long it will still take. */
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
  // What was only estimated may turn out to be more.
  if (!total || done > total) return `${what}: ${amount(done, unit)}, ${rate}`;
  const share = `${Math.floor((100 * done) / total)} %`;
  const left = perSecond > 0 ? `, ${duration((total - done) / perSecond)} left` : '';
  return `${what}: ${share}, ${amount(done, unit === 'bytes' ? unit : '')} of ${amount(total, unit)}, ${rate}${left}`;
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

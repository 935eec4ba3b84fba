import type { Streams } from './output';

const EVERY_MS = 200;
const CLEAR = '\r\u001b[K';

/** Tells a person on a terminal how far something is, on one line that is gone at its end. Nobody else sees it. */
export class Progress {
  private readonly begunMs: number;
  private shownMs = 0;

  constructor(
    private readonly streams: Streams,
    private readonly what: string,
    private readonly unit: string,
    /** How much there is, as far as known. */
    private readonly total?: number,
    private readonly now: () => number = Date.now,
  ) {
    this.begunMs = now();
  }

  /** Tells how much is done, from time to time. */
  at(done: number): void {
    const nowMs = this.now();
    if (!this.streams.terminal?.err || nowMs - this.shownMs < EVERY_MS) return;
    this.shownMs = nowMs;
    this.streams.err(`${CLEAR}${describeProgress(this.what, this.unit, done, this.total, nowMs - this.begunMs)}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.streams.terminal?.err && this.shownMs > 0) this.streams.err(CLEAR);
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
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = `${amount(perSecond, unit)}/s`;
  if (!total) return `${what}: ${amount(done, unit)}, ${rate}`;
  const share = `${Math.min(100, Math.floor((100 * done) / total))} %`;
  const left = perSecond > 0 ? `, ${duration(Math.max(0, total - done) / perSecond)} left` : '';
  return `${what}: ${share}, ${amount(Math.min(done, total), unit)} of ${amount(total, unit)}, ${rate}${left}`;
}

function amount(value: number, unit: string): string {
  if (unit !== 'bytes') return `${Math.round(value)} ${unit}`;
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

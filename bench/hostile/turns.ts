import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';

/** The program that a watched process loads before its own; it needs `HOSTILE_TURNS`, the file it writes to. */
export const watchProgram = path.join(__dirname, 'watch.cjs');

/** One long turn of an event loop. */
export interface Turn {
  readonly wallMs: number;
  /** Processor time of the main thread; undefined if the system does not report it. */
  readonly cpuMs?: number;
}

/** The effective time of a turn: a busy machine lengthens the wall time of every turn. */
export const weightOf = ({ wallMs, cpuMs }: Turn): number => cpuMs ?? wallMs;

export const noTurn: Turn = { wallMs: 0, cpuMs: 0 };

/** The long turns of a watched process, in order. */
export class LoopTurns {
  private offset = 0;

  constructor(private readonly file: string) {}

  /** The longest turn since the last call. */
  longest(): Turn {
    return this.since().reduce((most, turn) => (weightOf(turn) > weightOf(most) ? turn : most), noTurn);
  }

  private since(): Turn[] {
    if (!existsSync(this.file)) return [];
    const handle = openSync(this.file, 'r');
    try {
      const bytes = Buffer.alloc(fstatSync(handle).size - this.offset);
      readSync(handle, bytes, 0, bytes.length, this.offset);
      const whole = bytes.lastIndexOf(10) + 1;
      this.offset += whole;
      return bytes
        .toString('latin1', 0, whole)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Turn);
    } finally {
      closeSync(handle);
    }
  }
}

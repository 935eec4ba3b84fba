import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LineWriter } from './line-writer';

describe('LineWriter', () => {
  let file: string;
  let fd: number;
  beforeEach(() => {
    file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'line-writer-')), 'log');
    fd = fs.openSync(file, 'w');
  });
  afterEach(() => {
    fs.closeSync(fd);
    fs.rmSync(path.dirname(file), { recursive: true });
  });

  async function writeLines(length: number): Promise<string> {
    while (fs.statSync(file).size < length) await new Promise((go) => setTimeout(go, 10));
    return fs.readFileSync(file, 'utf8');
  }

  it('writes every line once and in order, however many there are', async () => {
    const writer = new LineWriter(fd);
    let all = '';
    for (let i = 0; i < 5000; i++) {
      const line = `line ${i} with an ü\n`;
      all += line;
      writer.write(line);
      if (i % 700 === 0) await new Promise((go) => setTimeout(go, 5));
    }
    expect(await writeLines(Buffer.byteLength(all))).toBe(all);
  });

  it('writes a single line soon', async () => {
    new LineWriter(fd).write('single\n');
    expect(await writeLines(7)).toBe('single\n');
  });

  it('writes the rest when it is flushed, and continues afterwards', async () => {
    const writer = new LineWriter(fd);
    writer.write('one\n');
    writer.flushSync();
    expect(fs.readFileSync(file, 'utf8')).toBe('one\n');
    writer.write('two\n');
    expect(await writeLines(8)).toBe('one\ntwo\n');
  });

  it('does not wait for the reader of a full pipe, and loses nothing once it continues to read', async () => {
    const pipe = `${file}.pipe`;
    execFileSync('mkfifo', [pipe]);
    const reader = fs.openSync(pipe, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const end = fs.openSync(pipe, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
    const writer = new LineWriter(end);
    let all = '';
    for (let i = 0; i < 20_000; i++) {
      all += `line ${i}\n`;
      writer.write(`line ${i}\n`);
    }
    const chunks: Buffer[] = [];
    for (let length = 0; length < all.length; ) {
      const bucket = Buffer.alloc(65_536);
      try {
        const read = fs.readSync(reader, bucket);
        chunks.push(bucket.subarray(0, read));
        length += read;
      } catch {
        await new Promise((go) => setTimeout(go, 5));
      }
    }
    expect(Buffer.concat(chunks).toString() === all).toBe(true);
    fs.closeSync(reader);
    fs.closeSync(end);
  });

  it('survives a destination that no longer exists', async () => {
    const reader = fs.openSync(file, 'r');
    const writer = new LineWriter(reader);
    writer.write('lost\n');
    await new Promise((go) => setTimeout(go, 60));
    writer.write('lost\n');
    writer.flushSync();
    fs.closeSync(reader);
    expect(fs.readFileSync(file, 'utf8')).toBe('');
  });
});

describe('a LineWriter at a pipe that is full', () => {
  const full = Object.assign(new Error('full'), { code: 'EAGAIN' });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('drops lines beyond sixteen million characters, and writes the rest when there is room', () => {
    let [length, isFull] = [0, true];
    jest.spyOn(fs, 'writeSync').mockImplementation(((_fd: number, bytes: Buffer) => {
      if (isFull) throw full;
      length += bytes.length;
      return bytes.length;
    }) as never);
    const writer = new LineWriter(99);
    const line = 'x'.repeat(1024 * 1024);
    // One chunk is being written; the seventeenth waiting chunk exceeds the limit.
    for (let i = 0; i < 30; i++) writer.write(line);
    isFull = false;
    writer.flushSync();
    expect(length).toBe(18 * line.length);
    writer.write(line);
    expect(length).toBe(19 * line.length);
  });

  it('waits at most a second for it at the end', () => {
    let [nowMs, calls] = [0, 0];
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    jest.spyOn(fs, 'writeSync').mockImplementation((() => {
      nowMs += 250;
      calls += 1;
      throw full;
    }) as never);
    const writer = new LineWriter(99);
    writer.write('line\n');
    writer.flushSync();
    expect(calls).toBe(4);
  });

  it('gives up at once if the destination no longer exists', () => {
    let calls = 0;
    jest.spyOn(fs, 'writeSync').mockImplementation((() => {
      calls += 1;
      throw Object.assign(new Error('gone'), { code: 'EPIPE' });
    }) as never);
    const writer = new LineWriter(99);
    writer.write('line\n');
    writer.flushSync();
    expect(calls).toBe(1);
  });
});

describe('a logger on standard output', () => {
  it('loses no line when the process ends, with or without an explicit exit', () => {
    const script = `
      const { createLogger } = require('./logger.ts');
      const log = createLogger({ name: 'x', level: 'info' });
      for (let i = 0; i < 3000; i++) log.info('line ' + i);
      if (process.argv[1] === 'exit') process.exit(0);`;
    for (const how of ['exit', 'end']) {
      const args = ['--conditions=source', '--import', 'tsx', '-e', script, how];
      const lines = execFileSync(process.execPath, args, { cwd: __dirname, encoding: 'utf8' }).trim().split('\n');
      expect(lines).toHaveLength(3000);
      expect(JSON.parse(lines[2999]!).msg).toBe('line 2999');
    }
  });
});

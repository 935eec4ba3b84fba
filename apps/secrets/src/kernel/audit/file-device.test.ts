import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FileDevice } from './file-device';
import { Remembered } from './remembered';

describe('an audit file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-'));
    file = path.join(folder, 'audit.log');
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  it('contains a line once its write resolves, and all lines in order', async () => {
    const device = await FileDevice.open('file/', file);
    await device.write('first\n');
    expect(fs.readFileSync(file, 'utf8')).toBe('first\n');
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i} ü\n`);
    await Promise.all(lines.map((line) => device.write(line)));
    expect(fs.readFileSync(file, 'utf8')).toBe(`first\n${lines.join('')}`);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    await device.close();
  });

  it('waits until the lines are on the disk when asked to', async () => {
    const device = await FileDevice.open('file/', file, { sync: true });
    await Promise.all([device.write('one\n'), device.write('two\n')]);
    expect(fs.readFileSync(file, 'utf8')).toBe('one\ntwo\n');
    await device.close();
  });

  it('continues in a new file when it is reopened while lines are waiting', async () => {
    const device = await FileDevice.open('file/', file);
    const writes = [device.write('a\n'), device.write('b\n')];
    fs.renameSync(file, `${file}.1`);
    await device.reopen();
    await Promise.all([...writes, device.write('c\n')]);
    const everything = fs.readFileSync(`${file}.1`, 'utf8') + fs.readFileSync(file, 'utf8');
    expect(everything.split('\n').filter(Boolean).sort()).toEqual(['a', 'b', 'c']);
    await device.close();
  });

  it('refuses lines, without blocking, when a named pipe is full and has no reader', async () => {
    execFileSync('mkfifo', [file]);
    const reader = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const device = await FileDevice.open('file/', file, { patienceMs: 200 });
    const beats: number[] = [];
    const timer = setInterval(() => beats.push(Date.now()), 10);
    const big = `${'x'.repeat(200_000)}\n`;
    await expect(device.write(big)).rejects.toThrow('the sink accepts nothing');
    clearInterval(timer);
    expect(beats.length).toBeGreaterThan(0);
    // The pipe is drained, so that the pending write can end.
    const bucket = Buffer.alloc(65_536);
    for (let read = 0; read < big.length; ) {
      try {
        read += fs.readSync(reader, bucket);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    await device.close();
    fs.closeSync(reader);
  });
});

describe('an audit file on a disk that is sometimes full', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-'));
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(() => fs.rmSync(folder, { recursive: true }));

  /** Accepts this many more bytes, then none until it is restored. */
  function fullAfter(bytes: number): void {
    const { writeSync } = fs;
    let remaining = bytes;
    jest.spyOn(fs, 'writeSync').mockImplementation(((fd: number, buffer: Buffer, offset: number) => {
      if (remaining === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      const count = writeSync(fd, buffer, offset, Math.min(remaining, buffer.length - offset));
      remaining -= count;
      return count;
    }) as typeof fs.writeSync);
  }

  it.each([0, 1, 5, 11, 12, 13, 20])('keeps every accepted line readable, %i bytes later', async (bytes) => {
    const file = path.join(folder, `full-${bytes}.log`);
    const device = await FileDevice.open('file/', file);
    const accepted: string[] = [];
    const write = async (line: string) => {
      await device.write(`${line}\n`).then(
        () => accepted.push(line),
        () => undefined,
      );
    };
    await write('{"line":"a"}');
    fullAfter(bytes);
    await Promise.all([write('{"line":"b"}'), write('{"line":"c"}')]);
    await write('{"line":"d"}');
    jest.restoreAllMocks();
    fullAfter(3);
    await write('{"line":"e"}');
    jest.restoreAllMocks();
    await Promise.all([write('{"line":"f"}'), write('{"line":"g"}')]);
    await device.close();
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    expect(accepted).toEqual(expect.arrayContaining(['{"line":"a"}', '{"line":"f"}', '{"line":"g"}']));
    expect(lines).toEqual(expect.arrayContaining(accepted));
  });

  it('begins a new line after a process was killed while writing', async () => {
    const file = path.join(folder, 'killed.log');
    fs.writeFileSync(file, '{"line":"a"}\n{"li');
    const device = await FileDevice.open('file/', file);
    await device.write('{"line":"b"}\n');
    expect(fs.readFileSync(file, 'utf8')).toBe('{"line":"a"}\n{"li\n{"line":"b"}\n');
    await device.close();
  });
});

describe('a slow sink', () => {
  it('refuses long lines first, so that other requests do not fail', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-'));
    const file = path.join(folder, 'pipe');
    execFileSync('mkfifo', [file]);
    const reader = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const device = await FileDevice.open('file/', file, { waitingBytes: 400_000 });
    const long = `${'x'.repeat(60_000)}\n`;
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, () =>
        Promise.race([
          device.write(long).catch(() => 'refused'),
          new Promise((resolve) => setTimeout(() => resolve('waits'), 50)),
        ]),
      ),
    );
    expect(outcomes).toContain('refused');
    const small = device.write('small\n');
    const read = new Promise<void>((resolve) => {
      const bucket = Buffer.alloc(65_536);
      const timer = setInterval(() => {
        try {
          while (fs.readSync(reader, bucket) > 0);
        } catch {
          // The pipe is empty at the moment.
        }
      }, 2);
      void small.finally(() => {
        clearInterval(timer);
        resolve();
      });
    });
    await expect(small).resolves.toBeUndefined();
    await read;
    await device.close();
    fs.closeSync(reader);
    fs.rmSync(folder, { recursive: true });
  });
});

describe('cached strings', () => {
  it('are kept while they are used, dropped otherwise, and never more than two generations', () => {
    const texts = new Remembered(10, 5);
    const missing = 'computed now';
    const get = (text: string) => texts.of(text, () => missing);
    texts.of('often', () => 'x');
    for (let i = 0; i < 1000; i++) {
      texts.of(`n${i}`, () => `${i}`);
      expect(get('often')).toBe('x');
    }
    expect(get('n999')).toBe('999');
    expect(get('n0')).toBe(missing);
    texts.of('too long', () => 'y');
    expect(get('too long')).toBe(missing);
    texts.clear();
    expect(get('often')).toBe(missing);
  });
});

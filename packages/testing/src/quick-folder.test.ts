import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { quickFolder } from './quick-folder';

const plenty = 2 ** 40;
let memory: string;
beforeAll(() => {
  memory = mkdtempSync(path.join(tmpdir(), 'keystead-memory-'));
});
afterAll(() => rmSync(memory, { recursive: true }));

describe('the folder for short-lived files', () => {
  it('is not in memory if there is no such folder, or not enough memory', () => {
    expect(quickFolder(path.join(memory, 'none'), plenty)).toBe(tmpdir());
    expect(quickFolder(memory, 2 ** 30)).toBe(tmpdir());
    expect(quickFolder('/proc', plenty)).toBe(tmpdir());
  });
});

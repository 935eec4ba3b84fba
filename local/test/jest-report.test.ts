import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const program = path.resolve(__dirname, '..', 'jest-report.mjs');

function evaluate(expression: string): unknown {
  const code = `import * as m from ${JSON.stringify(program)}; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' }));
}

/** A Jest report of files with these test results. */
function report(files: Record<string, string[]>): string {
  const results = Object.entries(files).map(([name, ends]) => ({
    name,
    status: ends.includes('failed') || ends.length === 0 ? 'failed' : 'passed',
    message: 'Cannot find module',
    assertionResults: ends.map((status, i) => ({
      status,
      fullName: `test ${i}`,
      failureMessages: status === 'failed' ? ['\u001b[31mExpected: 1\n\n  Received: 2'] : [],
    })),
  }));
  const all = Object.values(files).flat();
  const count = (status: string) => all.filter((one) => one === status).length;
  return JSON.stringify({
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending'),
    numTodoTests: 0,
    numRuntimeErrorTestSuites: Object.values(files).filter((ends) => ends.length === 0).length,
    testResults: results,
  });
}

const mixed = report({
  '/project/a.test.ts': ['passed', 'passed', 'pending'],
  '/project/b.test.ts': ['passed', 'failed'],
  '/project/c.test.ts': [],
});

describe('a report of Jest', () => {
  it('counts tests, and a file that could not be loaded as one that failed', () => {
    expect(evaluate(`m.countsOf(${mixed}, 1)`)).toEqual({ passed: 3, failed: 2, skipped: 1 });
  });

  it('counts a crashed run as failed, with a report and without', () => {
    const well = report({ '/project/a.test.ts': ['passed'] });
    expect(evaluate(`m.countsOf(${well}, 1)`)).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(evaluate('m.countsOf(undefined, 1)')).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('names the tests that failed, with the beginning of their messages', () => {
    expect(evaluate(`m.failures(${mixed}, '/project')`)).toEqual([
      'failed: b.test.ts: test 1: Expected: 1 Received: 2',
      'failed: c.test.ts: could not be run: Cannot find module',
    ]);
    expect(evaluate("m.failures(undefined, '/project')")).toEqual([]);
  });
});

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const tried = path.resolve(__dirname, '..', 'second-try.mjs');

function evaluate(expression: string): unknown {
  const code = `import * as m from ${JSON.stringify(tried)}; console.log(JSON.stringify(${expression}));`;
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

const first = report({
  '/project/a.test.ts': ['passed', 'passed', 'pending'],
  '/project/b.test.ts': ['passed', 'failed'],
  '/project/c.test.ts': [],
});

describe('the second try of failed test files', () => {
  it('is for those that failed or could not be loaded', () => {
    expect(evaluate(`m.worthASecondTry(${first})`)).toEqual(['/project/b.test.ts', '/project/c.test.ts']);
  });

  it('is not for many: that is not a chance', () => {
    const many = report(Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`/project/${name}`, ['failed']])));
    expect(evaluate(`m.worthASecondTry(${many})`)).toEqual([]);
  });

  it('counts what passed by itself as passed, and names it', () => {
    const second = report({ '/project/b.test.ts': ['passed', 'passed'], '/project/c.test.ts': ['passed'] });
    expect(evaluate(`m.together(${first}, ${second}, 0)`)).toEqual({ passed: 5, failed: 0, skipped: 1 });
    expect(evaluate(`m.chances(${first}, ${second}, '/project')`)).toEqual([
      'failed once, passed by itself: b.test.ts: test 1',
    ]);
  });

  it('counts what fails twice as failed', () => {
    const second = report({ '/project/b.test.ts': ['passed', 'failed'], '/project/c.test.ts': [] });
    expect(evaluate(`m.together(${first}, ${second}, 1)`)).toEqual({ passed: 3, failed: 2, skipped: 1 });
    expect(evaluate(`m.chances(${first}, ${second}, '/project')`)).toEqual([]);
  });

  it('names what failed in the end, with the beginning of what it said', () => {
    const second = report({ '/project/b.test.ts': ['passed', 'failed'], '/project/c.test.ts': [] });
    const lines = [
      'failed: b.test.ts: test 1: Expected: 1 Received: 2',
      'failed: c.test.ts: could not be run: Cannot find module',
    ];
    expect(evaluate(`m.failures(${first}, ${second}, '/project')`)).toEqual(lines);
    expect(evaluate(`m.failures(${first}, undefined, '/project')`)).toEqual(lines);
    const well = report({ '/project/b.test.ts': ['passed', 'passed'], '/project/c.test.ts': ['passed'] });
    expect(evaluate(`m.failures(${first}, ${well}, '/project')`)).toEqual([]);
  });

  it('counts a second run that broke as failed', () => {
    expect(evaluate(`m.together(${first}, undefined, 1)`)).toEqual({ passed: 2, failed: 1, skipped: 1 });
  });
});

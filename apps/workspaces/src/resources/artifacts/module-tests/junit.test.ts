import { describe, expect, it } from '@jest/globals';
import { junitOf } from './junit';

describe('a report of tests', () => {
  it('of thousands of files takes no longer than reading their lines', async () => {
    const lines = async function* () {
      for (let at = 0; at < 10_000; at++) {
        yield JSON.stringify({ type: 'test_run', test_run: { path: `${at}.tftest.hcl`, run: 'one', status: 'pass' } });
      }
    };
    const before = process.cpuUsage();
    const report = await junitOf('trun-1', lines());
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1);
    expect(report.match(/<testsuite /g)).toHaveLength(10_000);
  });
});

import { expect, test } from '@jest/globals';
import type { BadConfig } from '@keystead/settings';
import { readWorkerConfig } from '../config';
import { cannotBeShown } from './private-root';

test.each([
  ['usr/share', 'is not an absolute path'],
  ['/usr/../etc/ssl', 'is written as /etc/ssl'],
  ['/usr/share/', 'is written as /usr/share'],
  ['/', 'cannot be made visible to runs as a whole: name the paths that runs need'],
  ['/etc', 'cannot be made visible to runs as a whole: name the paths that runs need'],
  ['/etc/', 'cannot be made visible to runs as a whole: name the paths that runs need'],
  ['/proc/sys', 'cannot be made visible to runs: they have their own /proc'],
  ['/dev/kvm', 'cannot be made visible to runs: they have their own /dev'],
  ['/tmp/mirror', 'cannot be made visible to runs: they have their own /tmp'],
  ['/run', 'cannot be made visible to runs: they have their own /run/tool'],
  ['/workspace', 'cannot be made visible to runs: they have their own /workspace'],
  ['/usr/absent', 'is not there'],
  ['/usr/share', undefined],
  ['/etc/hostname', undefined],
])('%s can be shown to runs or not', (at, problem) => {
  expect(cannotBeShown(at)).toBe(problem);
});

test('a worker with paths that cannot be shown does not start, and names each', () => {
  let problems: readonly string[] = [];
  try {
    readWorkerConfig({
      WORKSPACES_DATABASE_URL: 'postgresql://127.0.0.1/none',
      WORKSPACES_SEAL_KEY_FILE: __filename,
      WORKSPACES_WORKER_SHOW: '/usr/share, /tmp/mirror,/usr/absent',
    });
  } catch (error) {
    problems = (error as BadConfig).problems;
  }
  expect(problems).toEqual([
    'WORKSPACES_WORKER_SHOW: /tmp/mirror cannot be made visible to runs: they have their own /tmp',
    'WORKSPACES_WORKER_SHOW: /usr/absent is not there',
  ]);
});

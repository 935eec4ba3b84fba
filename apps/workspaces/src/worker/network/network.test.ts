import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { fromSource } from '@keystead/testing';

const uids = { first: 41_000, last: 41_999 };

// The test runs in a separate network, so that no rule stays on this machine: a database on the loopback, and who can
// reach it.
const trial = `
const { execFileSync } = require('node:child_process');
const net = require('node:net');
const { blockDatabase } = require(${JSON.stringify(path.join(__dirname, 'network.ts'))});
// The connection is opened by the shell, because the program of this test may be in a folder that others cannot enter.
const as = (uid, port) => new Promise((resolve) => require('node:child_process').execFile(
  '/bin/bash', ['-c', 'exec 3<>/dev/tcp/127.0.0.1/' + port + ' && echo open'], { uid, cwd: '/' },
  (_, out, said) => resolve(out.trim() || (said.includes('Connection refused') ? 'ECONNREFUSED' : said))));
const listening = () => new Promise((resolve) => { const s = net.createServer((c) => c.end()).listen(0, '127.0.0.1', () => resolve(s.address().port)); });
(async () => {
  const [port, other] = [await listening(), await listening()];
  const seen = { before: await as(${uids.first}, port) };
  const block = () => blockDatabase(${JSON.stringify(uids)}, { local: true, addresses: ['127.0.0.1'], port });
  seen.problems = [await block(), await block()];
  seen.rules = execFileSync('iptables', ['--list-rules', 'OUTPUT']).toString().split('\\n').filter((line) => line.includes('--dport ' + port)).length;
  seen.after = await Promise.all([${uids.first}, ${uids.last}, ${uids.last + 1}, 0].map((uid) => as(uid, port)));
  seen.otherPort = await as(${uids.first}, other);
  console.log(JSON.stringify(seen));
  process.exit();
})();`;

const here =
  spawnSync('unshare', ['--net', 'sh', '-c', 'ip link set lo up && iptables -w --list-rules OUTPUT']).status === 0;

describe('the firewall of a worker', () => {
  (here ? test : test.skip)('keeps runs from a database of this machine, and only them', async () => {
    const run = [
      '--net',
      'sh',
      '-c',
      'ip link set lo up && exec "$0" "$@"',
      process.execPath,
      ...fromSource,
      '-e',
      trial,
    ];
    const { stdout } = await promisify(execFile)('unshare', run);
    expect(JSON.parse(stdout)).toEqual({
      before: 'open',
      problems: [null, null],
      rules: 1,
      after: ['ECONNREFUSED', 'ECONNREFUSED', 'open', 'open'],
      otherPort: 'open',
    });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isolationHere, kindsTried, runScript, testUids, unblock } from '../../../test/worker-fixture';
import { blockCloudEndpoints } from '../network/network';
import { cloudEndpointHosts, tryCloudEndpoints, tryTargets } from '../network/reach';
import { isolationKinds } from './isolation';
import { type Confinement, findConfinement } from './launcher';
import { makeScratch } from './scratch';
import { processors, systemCallFilter } from './system-calls';
import { tryReading, tryUserNamespace } from './trial';

const limits = { fileBytes: 1_000_000_000, processes: 500, openFiles: 4096, memoryBytes: 1024 * 1024 * 1024 };
const options = { network: 'host' as const, show: [], limits };
const kinds = kindsTried();
const x64 = process.arch === 'x64';
const owner = { uid: testUids.firstUid, gid: testUids.firstUid };

// The kernel's answers to a run's direct system calls, made with perl.
const ask = (calls: Record<string, string>) => `perl -e '
  ${Object.entries(calls)
    .map(([name, call]) => `$! = 0; my $r = syscall(${call}); print "${name} ", $r < 0 ? $! + 0 : "given", "\\n";`)
    .join('\n  ')}'`;

const eperm = '1';
const enosys = '38';
const eafnosupport = '97';
const newUser = '0x10000000 | 17, 0, 0, 0, 0';

describe.each(isolationKinds)('the kernel as seen by %s', (kind) => {
  const it = kinds.includes(kind) ? test : test.skip;
  const itRooted = kind === 'private-root' || kind === 'user-namespace' ? it : test.skip;
  const itUid = kind === 'private-root' || kind === 'own-user' ? it : test.skip;
  const root = mkdtempSync(path.join(tmpdir(), 'kernel-'));
  const scratch = { root, ...testUids };
  const trial = { options, scratch: root, owner, secrets: [], trustSameUser: true };
  const plain = isolationHere(kind, options);
  let confinement: Confinement;
  const confined = () => isolationHere(kind, { ...options, confinement });
  beforeAll(async () => {
    await makeScratch(root);
    const found = await findConfinement();
    if (typeof found === 'string') throw new Error(found);
    confinement = found;
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('refuses user namespaces, in which the dropped rights would come back', async () => {
    expect(await tryUserNamespace(confined(), trial)).toBe(false);
    const { text } = await runScript(confined(), scratch, 'unshare -Urmp --fork cat /proc/self/status; echo done');
    expect(text).toContain('unshare failed: Operation not permitted');
    expect(text).toContain('done');
    expect(text).not.toContain('CapEff');
  });

  itRooted('creates no user namespaces without a filter of system calls, either', async () => {
    expect(await tryUserNamespace(plain, trial)).toBe(false);
  });

  it('refuses calls that no tool needs, and allows those that tools need', async () => {
    const calls: Record<string, [call: string, answer: string]> = x64
      ? {
          unshare: ['272, 0x10000000', eperm],
          clone: [`56, ${newUser}`, eperm],
          clone3: ['435, 0, 0', enosys],
          setns: ['308, 0, 0', eperm],
          keyctl: ['250, 0, -3, 0', eperm],
          bpf: ['321, 0, 0, 0', eperm],
          io_uring: ['425, 1, 0', eperm],
          perf: ['298, 0, 0, -1, -1, 0', eperm],
          userfaultfd: ['323, 1', eperm],
          ptrace: ['101, 0, 0, 0, 0', eperm],
          syslog: ['103, 10, 0, 0', eperm],
          'x32 getpid': ['0x40000000 | 39', enosys],
          newer: ['463, 0, 0, 0', enosys],
          vsock: ['41, 40, 1, 0', eafnosupport],
          alg: ['41, 38, 5, 0', eafnosupport],
          packet: ['41, 17, 3, 0', eafnosupport],
          'netlink of sockets': ['41, 16, 3, 4', eafnosupport],
          'netlink of routes': ['41, 16, 3, 0', 'given'],
          unix: ['41, 1, 1, 0', 'given'],
          inet: ['41, 2, 1, 0', 'given'],
          inet6: ['41, 10, 1, 0', 'given'],
          getpid: ['39', 'given'],
        }
      : { unshare: ['97, 0x10000000', eperm], bpf: ['280, 0, 0, 0', eperm], getpid: ['172', 'given'] };
    const script = ask(Object.fromEntries(Object.entries(calls).map(([name, [call]]) => [name, call])));
    const { text } = await runScript(confined(), scratch, script);
    const answers = Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => line.split(/ (?=\S+$)/)),
    );
    expect(answers).toEqual(Object.fromEntries(Object.entries(calls).map(([name, [, answer]]) => [name, answer])));
    // Without the filter the same calls are not refused in this way, so it is the filter that refuses them.
    const free = await runScript(plain, scratch, script);
    expect(free.text).toContain(x64 ? 'netlink of sockets given' : 'getpid given');
  });

  it('refuses connections to abstract sockets of this machine', async () => {
    const name = `keystead-test-${process.pid}-${kind}`;
    const listen = `
      socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un("\\0${name}")) && listen(S, 5) or die $!;
      $| = 1; print "listening"; sleep 600;`;
    const server = spawn('perl', ['-MSocket', '-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(server.stdout, 'data');
    const script = `perl -MSocket -e '
      socket(S, PF_UNIX, SOCK_STREAM, 0) or die;
      print connect(S, pack_sockaddr_un("\\0${name}")) ? "open" : "closed";'`;
    try {
      const { text } = await runScript(confined(), scratch, script);
      expect(text).toBe(confinement.scoped ? 'closed' : 'open');
      expect((await runScript(plain, scratch, script)).text).toBe('open');
    } finally {
      server.kill();
    }
  });

  itUid('sends nothing to addresses at which a cloud talks to its machines', async () => {
    const uids = { first: owner.uid, last: owner.uid };
    const problem = await blockCloudEndpoints(uids);
    if (problem !== undefined) {
      // Also printed at every start of a worker.
      process.stderr.write(`not closed here: ${problem}\n`);
      return;
    }
    const hosts = cloudEndpointHosts();
    const targets = hosts.map((host) => ({ host, port: 80 }));
    const answers = async (uid: number) => {
      const tried = await tryTargets(confined(), { ...trial, owner: { uid, gid: uid } }, targets);
      return Object.fromEntries(hosts.map((host, index) => [host, tried?.[index]]));
    };
    try {
      expect(await answers(owner.uid)).toEqual(Object.fromEntries(hosts.map((host) => [host, 'EACCES'])));
      expect(await tryCloudEndpoints(confined(), trial)).toEqual([]);
      expect(Object.values(await answers(owner.uid + 1))).not.toContain('EACCES');
    } finally {
      unblock(uids, { port: 1, addresses: [], local: false });
    }
  });

  it('reports which paths it cannot read', async () => {
    const absent = path.join(root, 'absent');
    expect(await tryReading(confined(), trial, ['/usr', absent, '/usr/bin/env'])).toEqual([absent]);
  });
});

describe('the filter of system calls', () => {
  test.each(processors)('of %s jumps only forward, to existing instructions, and ends in a result', (processor) => {
    const filter = systemCallFilter(processor);
    const count = filter.length / 8;
    expect(count).toBeLessThan(4096);
    for (let index = 0; index < count; index++) {
      const code = filter.readUInt16LE(index * 8);
      const jumps = [filter.readUInt8(index * 8 + 2), filter.readUInt8(index * 8 + 3)];
      if ((code & 7) === 5) for (const jump of jumps) expect(index + 1 + jump).toBeLessThan(count);
      else expect(jumps).toEqual([0, 0]);
    }
    expect(filter.readUInt16LE((count - 1) * 8)).toBe(6);
  });
});

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './service';

/** A node that has not recovered after this time is rebuilt, as its operator would do. */
const REBUILD_MS = 40_000;
const READY_MS = 180_000;

/** The required programs, and their paths on Debian. */
const programs = {
  etcd: '/usr/bin/etcd',
  patroni: '/usr/bin/patroni',
  haproxy: '/usr/sbin/haproxy',
  postgres: '/usr/lib/postgresql/15/bin/postgres',
};

/** The missing programs, by name; empty if there are none. */
export const missingPrograms = (): string[] =>
  Object.entries(programs).flatMap(([name, file]) => (existsSync(file) ? [] : [`${name} (${file})`]));

/** How the primary fails: only its PostgreSQL, or everything on its machine. */
export type Death = 'server' | 'machine';

/** PostgreSQL on three "machines", one of which is primary and one a synchronous standby, behind one address. */
export interface Cluster {
  url(database: string): string;
  /** Kills the primary with SIGKILL; returns when, and a function to restart it. */
  killPrimary(how: Death): Promise<{ name: string; restart(): void }>;
  /** The name of the primary; undefined while there is none. */
  primary(): Promise<string | undefined>;
  /** How often a killed node could not recover from its files and was rebuilt. */
  rebuilt: number;
  /** Resolves when there are a primary and a synchronous standby. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

interface Node {
  readonly name: string;
  readonly rest: number;
  readonly port: number;
  readonly folder: string;
  patroni: ChildProcess | undefined;
}

/** Runs PostgreSQL as another user, because it refuses to run as root. */
function owner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Starts etcd, three PostgreSQL under Patroni, and HAProxy, which leads to the primary; all in `folder`. */
export async function startCluster(folder: string): Promise<Cluster> {
  const as = owner();
  const own = (name: string) => {
    const target = path.join(folder, name);
    mkdirSync(target, { recursive: true, mode: 0o700 });
    if (as) chownSync(target, as.uid, as.gid);
    return target;
  };
  chmodSync(folder, 0o755);
  const children: ChildProcess[] = [];
  const run = (name: string, file: string, args: string[]) => {
    const log = openSync(path.join(folder, `${name}.log`), 'a');
    const child = spawn(file, args, {
      ...as,
      cwd: folder,
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH, LANG: 'C.UTF-8' },
    });
    children.push(child);
    return child;
  };
  const [client, peer, front] = [await freePort(), await freePort(), await freePort()];
  const here = (port: number) => `http://127.0.0.1:${port}`;
  run('etcd', programs.etcd, [
    ...['--data-dir', own('etcd'), '--name', 'one', '--initial-cluster', `one=${here(peer)}`],
    ...['--listen-client-urls', here(client), '--advertise-client-urls', here(client)],
    ...['--listen-peer-urls', here(peer), '--initial-advertise-peer-urls', here(peer)],
  ]);
  const nodes: Node[] = [];
  for (const name of ['a', 'b', 'c']) {
    nodes.push({ name, rest: await freePort(), port: await freePort(), folder: own(name), patroni: undefined });
  }
  for (const node of nodes)
    writeFileSync(path.join(folder, `${node.name}.json`), JSON.stringify(patroniOf(node, client)));
  writeFileSync(path.join(folder, 'haproxy.cfg'), haproxyOf(nodes, front));
  const begin = (node: Node) => {
    // Patroni reads YAML, which includes JSON.
    node.patroni = run(node.name, programs.patroni, [path.join(folder, `${node.name}.json`)]);
  };
  const states = async () => {
    for (const node of nodes) {
      try {
        const answer = await fetch(`${here(node.rest)}/cluster`, { signal: AbortSignal.timeout(3000) });
        return ((await answer.json()) as { members: { name: string; role: string; state: string }[] }).members;
      } catch {
        // Ask another node.
      }
    }
    return [];
  };
  const isPrimary = async (node: Node) =>
    fetch(`${here(node.rest)}/primary`, { signal: AbortSignal.timeout(2000) }).then(
      (answer) => answer.ok,
      () => false,
    );
  const primaryNode = async (): Promise<Node> => {
    for (const untilMs = Date.now() + READY_MS; ; await sleep(100)) {
      const name = await cluster.primary();
      const node = nodes.find((one) => one.name === name);
      if (node !== undefined) return node;
      if (Date.now() > untilMs) throw new Error('there is no primary to kill');
    }
  };
  const cluster: Cluster = {
    rebuilt: 0,
    url: (database) => `postgresql://postgres:postgres@127.0.0.1:${front}/${database}`,
    async primary() {
      const are = await Promise.all(nodes.map(isPrimary));
      return nodes.find((_, index) => are[index])?.name;
    },
    async ready() {
      const rebuildAtMs = Date.now() + REBUILD_MS;
      // Each member is rebuilt only once, because another call would restart a copy in progress.
      const rebuilt = new Set<string>();
      for (const untilMs = Date.now() + READY_MS; ; await sleep(200)) {
        const members = await states();
        const well = members.filter(({ state }) => state === 'running' || state === 'streaming');
        const has = (role: string) => well.some((one) => one.role === role);
        if (has('leader') && has('sync_standby')) return;
        if (Date.now() > untilMs) throw new Error(`there is no synchronous standby: ${JSON.stringify(members)}`);
        if (Date.now() < rebuildAtMs) continue;
        for (const { name, rest } of nodes) {
          if (rebuilt.has(name) || well.some((one) => one.name === name)) continue;
          rebuilt.add(name);
          cluster.rebuilt++;
          await fetch(`${here(rest)}/reinitialize`, { method: 'POST', body: '{"force":true}' }).catch(() => {});
        }
      }
    },
    async killPrimary(how) {
      const node = await primaryNode();
      const postmaster = Number(readFileSync(path.join(node.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
      if (how === 'machine') node.patroni!.kill('SIGKILL');
      process.kill(postmaster, 'SIGKILL');
      return { name: node.name, restart: () => how === 'machine' && begin(node) };
    },
    async stop() {
      for (const { patroni } of nodes) patroni?.kill('SIGTERM');
      await Promise.all(nodes.map(({ patroni }) => patroni && ended(patroni)));
      for (const child of children) child.kill('SIGKILL');
    },
  };
  begin(nodes[0]!);
  for (const untilMs = Date.now() + 60_000; (await cluster.primary()) === undefined; await sleep(200)) {
    if (Date.now() > untilMs)
      throw new Error(`no primary:\n${readFileSync(path.join(folder, 'a.log'), 'utf8').slice(-3000)}`);
  }
  for (const node of nodes.slice(1)) begin(node);
  run('haproxy', programs.haproxy, ['-db', '-f', path.join(folder, 'haproxy.cfg')]);
  await cluster.ready();
  return cluster;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const force = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(force);
}

function patroniOf(node: Node, etcd: number): object {
  return {
    scope: 'keystead',
    name: node.name,
    restapi: { listen: `127.0.0.1:${node.rest}`, connect_address: `127.0.0.1:${node.rest}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        maximum_lag_on_failover: 1_048_576,
        primary_start_timeout: 0,
        master_start_timeout: 0,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          remove_data_directory_on_rewind_failure: true,
          remove_data_directory_on_diverged_timelines: true,
          parameters: {
            max_connections: 200,
            shared_buffers: '64MB',
            wal_log_hints: 'on',
            wal_keep_size: '512MB',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${node.port}`,
      connect_address: `127.0.0.1:${node.port}`,
      data_dir: path.join(node.folder, 'data'),
      bin_dir: path.dirname(programs.postgres),
      pgpass: path.join(node.folder, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: 'postgres' },
        replication: { username: 'replicator', password: 'replicator' },
      },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
      parameters: { unix_socket_directories: node.folder },
      // A copy starts at once, not with the next checkpoint in minutes.
      basebackup: [{ checkpoint: 'fast' }],
    },
  };
}

const haproxyOf = (nodes: readonly Node[], port: number): string => `global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 1s
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port: at, rest }) => `  server ${name} 127.0.0.1:${at} check port ${rest}\n`).join('')}`;

import { connect, type NetConnectOpts } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Isolation } from '../isolation/isolation';
import { inTrial, type Trial } from '../isolation/trial';
import { endpointsToTry } from './cloud-endpoints';
import { type DatabaseAddress, ownAddresses } from './database-address';

/** Whether runs can reach a database; undefined if this could not be tested. */
export type DatabaseReach = 'open' | 'closed' | undefined;

// Prints the result of connecting to each target. A run has no other program that certainly supports TCP.
const probe = `
const net = require('node:net');
const targets = JSON.parse(process.argv[1]);
Promise.all(targets.map((target) => new Promise((resolve) => {
  const socket = net.connect(target);
  const end = (what) => { socket.destroy(); resolve(what); };
  socket.setTimeout(2000, () => end('silent'));
  socket.once('connect', () => end('open'));
  socket.once('error', (error) => end(error.code || 'silent'));
}))).then((answers) => console.log('tried ' + JSON.stringify(answers)));
`;

/**
 * The result of connecting to each target like a run: `open`, `silent` or an error code; undefined if it could not be
 * tested.
 */
export async function tryTargets(
  isolation: Isolation,
  trial: Trial,
  targets: readonly NetConnectOpts[],
): Promise<readonly string[] | undefined> {
  const node = process.execPath;
  const argv = [isolation.toolInside(node), '-e', probe, JSON.stringify(targets)];
  const { stdout } = await inTrial(isolation, trial, { tool: node, argv });
  const answers = /^tried (.*)$/m.exec(stdout)?.[1];
  return answers === undefined ? undefined : (JSON.parse(answers) as string[]);
}

// This machine refused the connection, or has no such network or no route to it.
const unreachable = ['EACCES', 'EPERM', 'ECONNREFUSED', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'];

/**
 * The addresses of cloud metadata services as a run would write them: link-local addresses are combined with the name
 * of each interface.
 */
export function cloudEndpointHosts(): string[] {
  const links = Object.entries(networkInterfaces())
    .filter(([, entries]) => entries?.some(({ address }) => address.startsWith('fe80:')))
    .map(([name]) => name);
  return endpointsToTry.flatMap((host) =>
    host.startsWith('fe80:') && links.length > 0 ? links.map((link) => `${host}%${link}`) : [host],
  );
}

/** The addresses of cloud metadata services that a run can still reach; undefined if this could not be tested. */
export async function tryCloudEndpoints(isolation: Isolation, trial: Trial): Promise<readonly string[] | undefined> {
  const hosts = cloudEndpointHosts();
  const answers = await tryTargets(
    isolation,
    trial,
    hosts.map((host) => ({ host, port: 80 })),
  );
  return answers && hosts.filter((_, index) => !unreachable.includes(answers[index] ?? ''));
}

/** Tries to connect to the database like a run, at every address it may have. */
export async function tryDatabase(
  isolation: Isolation,
  trial: Trial,
  database: DatabaseAddress,
): Promise<DatabaseReach> {
  const targets =
    'socket' in database
      ? [{ path: database.socket }]
      : [...new Set([...database.addresses, ...(database.local ? ownAddresses() : [])])].map((host) => ({
          host,
          port: database.port,
        }));
  // If an address does not answer the worker either, a missing response to a run proves nothing.
  const answering = await Promise.all(targets.map(takesConnection));
  if (!answering.includes(true)) return undefined;
  const answers = await tryTargets(isolation, trial, targets);
  if (answers === undefined) return undefined;
  return answers.includes('open') ? 'open' : 'closed';
}

function takesConnection(target: NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(target);
    const end = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(2000, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

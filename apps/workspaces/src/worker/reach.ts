import { connect, type NetConnectOpts } from 'node:net';
import { type DatabasePlace, ownAddresses } from './database-place';
import type { Isolation } from './isolation';
import { inTrial, type Trial } from './trial';

/** Whether runs reach a database; undefined where that could not be tried. */
export type Reach = 'open' | 'closed' | undefined;

// Prints the targets that take a connection. A run has no other program that surely speaks TCP.
const knock = `
const net = require('node:net');
const targets = JSON.parse(process.argv[1]);
Promise.all(targets.map((target) => new Promise((resolve) => {
  const socket = net.connect(target);
  const end = (open) => { socket.destroy(); resolve(open); };
  socket.setTimeout(2000, () => end(false));
  socket.once('connect', () => end(true));
  socket.once('error', () => end(false));
}))).then((open) => console.log('tried ' + JSON.stringify(targets.filter((_, index) => open[index]))));
`;

/** Tries to connect to the database as a run would, at every address it may have. */
export async function tryDatabase(isolation: Isolation, trial: Trial, place: DatabasePlace): Promise<Reach> {
  const targets =
    'socket' in place
      ? [{ path: place.socket }]
      : [...new Set([...place.addresses, ...(place.local ? ownAddresses() : [])])].map((host) => ({
          host,
          port: place.port,
        }));
  // What does not answer the worker either says nothing by not answering a run.
  const answering = await Promise.all(targets.map(takesConnection));
  if (!answering.includes(true)) return undefined;
  const node = process.execPath;
  const argv = [isolation.toolInside(node), '-e', knock, JSON.stringify(targets)];
  const { stdout } = await inTrial(isolation, trial, { tool: node, argv });
  const open = /^tried (.*)$/m.exec(stdout)?.[1];
  if (open === undefined) return undefined;
  return open === '[]' ? 'closed' : 'open';
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

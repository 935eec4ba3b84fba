import { execFile } from 'node:child_process';
import { isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import type { DatabasePlace } from './database-place';

/** Addresses at which clouds hand credentials to whoever asks. Name service at some of them goes on: it is not TCP. */
export const metadataAddresses: readonly string[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  'fd00:ec2::254',
  'fd00:ec2::23',
];

/** The user ids of runs. */
export interface Uids {
  readonly first: number;
  readonly last: number;
}

const execute = promisify(execFile);
const preference = '7300';

/**
 * Makes the cloud's metadata addresses unreachable over TCP for a range of uids, by rules of the machine's own routing.
 * Answers why that was not possible, undefined when it was. Rules that are there already stay as they are.
 */
export async function blockMetadata(uids: Uids): Promise<string | undefined> {
  return problemOf(() => addRoutingRules(uids, metadataAddresses, []));
}

/**
 * Makes the database unreachable over TCP for a range of uids: by the machine's firewall, which knows who sends, else by
 * routing, which can do that for databases on other machines. Answers as `blockMetadata` does.
 */
export async function blockDatabase(
  uids: Uids,
  place: Exclude<DatabasePlace, { socket: string }>,
): Promise<string | undefined> {
  const problem = await problemOf(() => addFirewallRules(uids, place));
  if (problem === undefined) return undefined;
  if (place.local) return problem;
  const routing = await problemOf(() => addRoutingRules(uids, place.addresses, ['dport', String(place.port)]));
  return routing && `${problem}; ${routing}`;
}

async function addRoutingRules(uids: Uids, addresses: readonly string[], more: readonly string[]): Promise<void> {
  const range = `${uids.first}-${uids.last}`;
  for (const family of ['-4', '-6']) {
    const wanted = addresses.filter((address) => isIPv6(address) === (family === '-6'));
    if (wanted.length === 0) continue;
    const { stdout } = await execute('ip', [family, 'rule', 'show', 'pref', preference]);
    const lines = stdout.split('\n').map((line) => `${line} `);
    const marks = [`uidrange ${range} `, ...(more.length > 0 ? [`${more.join(' ')} `] : [])];
    for (const address of wanted) {
      if (lines.some((line) => line.includes(`to ${address} `) && marks.every((mark) => line.includes(mark)))) continue;
      const rule = ['to', address, 'ipproto', 'tcp', ...more, 'uidrange', range, 'prohibit', 'pref', preference];
      await execute('ip', [family, 'rule', 'add', ...rule]);
    }
  }
}

/** The rules of a firewall that keep a range of uids from a database, without what is done with them. */
export function firewallRules(
  uids: Uids,
  { local, addresses, port }: Exclude<DatabasePlace, { socket: string }>,
): { readonly program: 'iptables' | 'ip6tables'; readonly rule: readonly string[] }[] {
  const from = ['-m', 'owner', '--uid-owner', `${uids.first}-${uids.last}`];
  const refused = ['-j', 'REJECT', '--reject-with', 'tcp-reset'];
  const to = (address: string[]) => ['OUTPUT', '-p', 'tcp', ...address, '--dport', String(port), ...from, ...refused];
  // On this machine it may listen at any address, whichever the worker uses.
  if (local) {
    const rule = to(['-m', 'addrtype', '--dst-type', 'LOCAL']);
    return [
      { program: 'iptables', rule },
      { program: 'ip6tables', rule },
    ];
  }
  return addresses.map((address) => ({
    program: isIPv6(address) ? 'ip6tables' : 'iptables',
    rule: to(['-d', address]),
  }));
}

async function addFirewallRules(uids: Uids, place: Exclude<DatabasePlace, { socket: string }>): Promise<void> {
  for (const { program, rule } of firewallRules(uids, place)) {
    const there = await execute(program, ['-w', '-C', ...rule]).then(
      () => true,
      (error: { code?: unknown }) => {
        if (error.code === 'ENOENT') throw error;
        return false;
      },
    );
    if (!there) await execute(program, ['-w', '-I', ...rule]);
  }
}

async function problemOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const { code, path, stderr, message } = error as {
      code?: unknown;
      path?: string;
      stderr?: string;
      message: string;
    };
    if (code === 'ENOENT') return `the program ${path} is missing`;
    return (stderr || message).trim().split('\n')[0];
  }
}

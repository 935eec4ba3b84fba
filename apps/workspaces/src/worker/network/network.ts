import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { AddressRanges } from '@keystead/outside';
import { cloudEndpoints } from './cloud-endpoints';
import type { DatabaseAddress } from './database-address';

/** The user ids of runs. */
export interface Uids {
  readonly first: number;
  readonly last: number;
}

const execute = promisify(execFile);
const preference = '7300';

/**
 * Blocks TCP to the cloud's metadata addresses for a range of uids, by routing rules of the machine. If the machine
 * itself has such an address, routing does not apply, so its firewall blocks it as well. Returns the reason if this was
 * not possible, otherwise undefined. Does not change existing rules.
 */
export async function blockCloudEndpoints(uids: Uids): Promise<string | undefined> {
  const ranges = cloudEndpoints.map(({ to }) => to);
  const problem = await problemOf(() => addRoutingRules(uids, ranges, []));
  if (problem !== undefined) return problem;
  const own = ranges.filter(isOwn);
  const closing = await problemOf(() => addFirewallRules(endpointRules(uids, own)));
  return closing && `this machine itself has addresses in ${own.join(', ')}, and ${closing}`;
}

/**
 * Whether an address of this machine is in a range. Link-local addresses are skipped, because they are valid only on
 * their interface.
 */
function isOwn(range: string): boolean {
  const ranges = new AddressRanges([range]);
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some((entry) => !entry.scopeid && ranges.has(entry.address));
}

/** One rule of a firewall, without its action. */
export interface FirewallRule {
  readonly program: 'iptables' | 'ip6tables';
  readonly rule: readonly string[];
}

/**
 * The firewall rules that block the cloud's metadata addresses for a range of uids, if this machine itself has such an
 * address.
 */
function endpointRules(uids: Uids, ranges: readonly string[]): FirewallRule[] {
  return ranges.map((range) => ({
    program: isIPv6(range.split('/')[0] ?? '') ? 'ip6tables' : 'iptables',
    rule: ['OUTPUT', '-p', 'tcp', '-d', range, ...refusedFrom(uids)],
  }));
}

const refusedFrom = (uids: Uids): string[] => [
  ...['-m', 'owner', '--uid-owner', `${uids.first}-${uids.last}`],
  ...['-j', 'REJECT', '--reject-with', 'tcp-reset'],
];

/**
 * Blocks TCP to the database for a range of uids: by the machine's firewall, which knows the sender's uid, otherwise by
 * routing, which works for databases on other machines. Returns the reason if this was not possible, like
 * `blockCloudEndpoints`.
 */
export async function blockDatabase(
  uids: Uids,
  database: Exclude<DatabaseAddress, { socket: string }>,
): Promise<string | undefined> {
  const problem = await problemOf(() => addFirewallRules(firewallRules(uids, database)));
  if (problem === undefined) return undefined;
  if (database.local) return problem;
  const routing = await problemOf(() => addRoutingRules(uids, database.addresses, ['dport', String(database.port)]));
  return routing && `${problem}; ${routing}`;
}

async function addRoutingRules(uids: Uids, addresses: readonly string[], more: readonly string[]): Promise<void> {
  const range = `${uids.first}-${uids.last}`;
  for (const family of ['-4', '-6']) {
    const ofFamily = addresses.filter((address) => isIPv6(address.split('/')[0] ?? '') === (family === '-6'));
    if (ofFamily.length === 0 || (family === '-6' && !existsSync('/proc/net/if_inet6'))) continue;
    const { stdout } = await execute('ip', [family, 'rule', 'show', 'pref', preference]);
    const lines = stdout.split('\n').map((line) => `${line} `);
    const marks = [`uidrange ${range} `, ...(more.length > 0 ? [`${more.join(' ')} `] : [])];
    for (const address of ofFamily) {
      if (lines.some((line) => line.includes(`to ${address} `) && marks.every((mark) => line.includes(mark)))) continue;
      const rule = ['to', address, 'ipproto', 'tcp', ...more, 'uidrange', range, 'prohibit', 'pref', preference];
      await execute('ip', [family, 'rule', 'add', ...rule]);
    }
  }
}

/** The firewall rules that block a database for a range of uids, without their action. */
export function firewallRules(
  uids: Uids,
  { local, addresses, port }: Exclude<DatabaseAddress, { socket: string }>,
): FirewallRule[] {
  const to = (address: string[]) => ['OUTPUT', '-p', 'tcp', ...address, '--dport', String(port), ...refusedFrom(uids)];
  // A database on this machine may listen at any address, not only at the one that the worker uses.
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

async function addFirewallRules(rules: readonly FirewallRule[]): Promise<void> {
  for (const { program, rule } of rules) {
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

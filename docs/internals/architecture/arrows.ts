import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Source } from './sources';

/** Orders that docs/internals/architecture.md draws: a folder may import those to its right. */
export interface Orders {
  /** Kernel modules of the secrets service, highest first. */
  kernel: readonly string[];
  /** Kernel folders of the workspace service, highest first. */
  rooms: readonly string[];
  /** Folders of the worker, highest first. */
  worker: readonly string[];
  /** Areas of the workspace service and their resources, earliest first: each may call those before it. */
  resources: readonly string[];
}

/** Reads the orders from the drawing, so that the page and the check cannot disagree. */
export function readOrders(root: string): Orders {
  const page = readFileSync(join(root, 'docs/internals/architecture.md'), 'utf8');
  const block = (start: string) => new RegExp(`^${start} +([^]*?)(?=^\\S|\`\`\`)`, 'm').exec(page)?.[1] ?? '';
  const names = (text: string, between: string) =>
    text
      .split(between)
      .map((name) => name.trim())
      .filter(Boolean);
  const areas = [...block('resources').matchAll(/(\S+) \(([^)]*)\)/g)];
  return {
    kernel: names(block('kernel'), '──►'),
    rooms: names(block('rooms'), '──►'),
    worker: names(block('worker'), '──►'),
    resources: areas.flatMap(([, area, within = '']) => names(within, ',').map((name) => `${area}/${name}`)),
  };
}

/** Packages of the project and those that each may import. */
const packages: Readonly<Record<string, readonly string[]>> = {
  refusal: [],
  envelope: [],
  jsonapi: ['refusal'],
  auth: ['refusal'],
  outside: ['refusal', 'tracing'],
  addresses: [],
  settings: ['addresses', 'tracing'],
  server: ['settings', 'tracing'],
  'api-page': ['server'],
  'console-host': ['refusal', 'server'],
  postgres: ['tracing'],
  keyring: [],
  passkeys: [],
  tracing: [],
  testing: ['postgres', 'tracing'],
};

/** Zones inside an app and those that each may import besides itself. `*` allows all. */
const secretsZones: Readonly<Record<string, readonly string[]>> = {
  main: ['service', 'config', 'http'],
  service: ['*'],
  config: ['kernel', 'sdk'],
  http: ['pipeline', 'kernel', 'sdk'],
  pipeline: ['kernel', 'sdk'],
  kernel: ['sdk', 'generated'],
  sdk: [],
  openapi: ['kernel/mounts', 'kernel/policy', 'sdk'],
  registry: ['backends', 'system', 'sdk'],
  backends: ['sdk'],
  system: ['openapi', 'kernel', 'sdk'],
};
const workspacesZones: Readonly<Record<string, readonly string[]>> = {
  main: ['service', 'housekeeping', 'config'],
  housekeeping: ['*'],
  'worker-main': ['worker', 'agent', 'config'],
  service: ['*'],
  worker: ['*'],
  agent: ['*'],
  config: ['kernel'],
  keys: ['kernel'],
  http: ['kernel'],
  kernel: ['generated'],
  'resources/registry': ['resources', 'kernel'],
  resources: ['kernel', 'generated'],
};
const consoleZones: Readonly<Record<string, readonly string[]>> = {
  secrets: ['shell', 'design', 'api'],
  workspaces: ['shell', 'design', 'api'],
  shell: ['design', 'api'],
  design: [],
  api: [],
};
const zonesOf: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  secrets: secretsZones,
  workspaces: workspacesZones,
  console: consoleZones,
};

/** Pure text forms of the sdk that the kernel reads and writes as well. */
const wireText: readonly string[] = ['sdk/path-text'];

/** One sentence per import of this file that no arrow allows. Tests may import anything of the same app. */
export function wrongArrows(source: Source, orders: Orders): string[] {
  const says = (from: string, why: string) => `${source.file} imports ${from}: ${why}`;
  const own = /^packages\/([^/]+)\//.exec(source.file)?.[1];
  const app = /^apps\/([^/]+)\//.exec(source.file)?.[1];
  return source.imports.flatMap((imported) => {
    const named = /^@keystead\/([^/]+)(.*)$/.exec(imported.from);
    if (named) {
      const [, name = '', deep] = named;
      if (!(name in packages) && !source.file.startsWith('local/') && !source.test) {
        return [says(imported.from, 'an app is started, never imported')];
      }
      if (deep && name in packages) return [says(imported.from, 'packages are imported only by their name')];
      if (name === 'testing' && !source.test) return [says(imported.from, 'only tests may')];
      if (own && !source.test && !packages[own]?.includes(name)) {
        return [says(imported.from, `packages/${own} may import ${packages[own]?.join(', ') || 'no other package'}`)];
      }
      return [];
    }
    if (imported.file === undefined) return [];
    const home = /^((?:apps|packages)\/[^/]+|[^/]+)\//.exec(source.file)?.[1];
    if (home && !imported.file.startsWith(`${home}/`) && !/^(docs|prisma)\//.test(imported.file) && !source.test) {
      return [says(imported.file, `it lies outside ${home}`)];
    }
    if (source.test || !app || !zonesOf[app]) return [];
    const why = wrongInApp(app, pathInApp(source.file), pathInApp(imported.file), imported.typeOnly, orders);
    return why ? [says(pathInApp(imported.file), why)] : [];
  });
}

function pathInApp(file: string): string {
  return file.replace(/^apps\/[^/]+\/src\//, '').replace(/\.tsx?$/, '');
}

function wrongInApp(app: string, from: string, to: string, typeOnly: boolean, orders: Orders): string | undefined {
  const zones = zonesOf[app] ?? {};
  const zone = zones[from] ? from : (from.split('/')[0] ?? '');
  const allowed = zones[zone];
  if (!allowed) return `${zone} is not a layer drawn in docs/internals/architecture.md`;
  const target = to.split('/')[0] ?? '';
  if (allowed.includes('*')) return zone === 'worker' && target === zone ? wrongInWorker(from, to, orders) : undefined;
  if (target === zone.split('/')[0]) return wrongInside(app, zone, from, to, orders);
  const drawn = allowed.some((name) => to === name || to.startsWith(`${name}/`));
  if (!drawn) return `${zone} may import ${allowed.join(', ') || 'packages only'}`;
  if (zone === 'kernel' && target === 'sdk' && !typeOnly && !wireText.includes(to))
    return 'the kernel takes types only from the sdk';
  return undefined;
}

/** Files next to the folders combine them, and may import from all. */
function wrongInWorker(from: string, to: string, { worker }: Orders): string | undefined {
  const [own, other] = [from, to].map((file) => file.split('/').slice(1, -1).join('/')) as [string, string];
  if (own === other || own === '') return undefined;
  const below = worker.includes(own) && (other === '' || worker.includes(other));
  if (!below) return `worker/${own} or worker/${other} is missing from the order in docs/internals/architecture.md`;
  return other === '' || worker.indexOf(own) > worker.indexOf(other)
    ? `worker/${own} stands below ${to} in docs/internals/architecture.md`
    : undefined;
}

function wrongInside(app: string, zone: string, from: string, to: string, orders: Orders): string | undefined {
  if (zone.endsWith('/registry')) return undefined;
  const depth = zone === 'resources' ? 2 : 1;
  const [own, other] = [from, to].map((file) =>
    file
      .split('/')
      .slice(1, 1 + depth)
      .join('/'),
  ) as [string, string];
  if (own === other) return undefined;
  if (zone === 'backends') return 'a backend never imports another; what two share belongs to the sdk';
  const order = orderOf(app, zone, orders);
  if (!order) return undefined;
  for (const name of [own, other]) {
    if (!order.includes(name)) return `${zone}/${name} is missing from the order in docs/internals/architecture.md`;
  }
  return order.indexOf(own) < order.indexOf(other)
    ? undefined
    : `${own} stands below ${other} in docs/internals/architecture.md`;
}

/** Highest first; undefined if a layer has no order. */
function orderOf(app: string, zone: string, orders: Orders): readonly string[] | undefined {
  if (zone === 'kernel') return app === 'secrets' ? orders.kernel : orders.rooms;
  return zone === 'resources' ? [...orders.resources].reverse() : undefined;
}

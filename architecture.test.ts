import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readOrders, wrongArrows } from './docs/internals/architecture/arrows';
import { latePromises } from './docs/internals/architecture/late-promises';
import { readSources, type Source } from './docs/internals/architecture/sources';
import { sectionTitles, specs } from './docs/internals/conformance/rows';

const root = __dirname;
const sources = readSources(root);
const product = sources.filter((source) => !source.test && /^(apps|packages|local)\//.test(source.file));
const apps = product.filter((source) => /^apps\/(secrets|workspaces)\//.test(source.file));
const inApp = (source: Source) => source.file.replace(/^apps\/[^/]+\/src\//, '');

/** Files that connect without asking a `Reach`, each with the target or the reason. */
const withoutReach: Readonly<Record<string, string>> = {
  'apps/secrets/src/backends/cloudtwo/web-identity.ts': 'connects as the clients of its mount',
  'apps/secrets/src/backends/scheduler/scheduler.ts': 'keeps connections that its client has made',
  'apps/secrets/src/kernel/storage/changes.ts': 'the database',
  'apps/workspaces/src/kernel/blobs/s3-objects.ts': 'the object store of the installation',
  'apps/workspaces/src/kernel/installation/mailer.ts': 'the mail server of the installation',
  'apps/workspaces/src/worker/agent/client.ts': 'the service that an agent is of',
  'apps/workspaces/src/worker/agent/proxy.ts': 'the proxy of those who run an agent',
  'apps/workspaces/src/worker/network/database-address.ts': 'looks up what runs must not reach',
  'apps/workspaces/src/worker/network/reach.ts': 'tries what runs must not reach',
  'packages/server/src/create-server.ts': 'listens',
  'packages/server/src/shared-port.ts': 'listens',
};

describe('imports', () => {
  it('follow the arrows of docs/internals/architecture.md', () => {
    const orders = readOrders(root);
    expect(orders.kernel).toContain('storage');
    expect(orders.rooms).toContain('database');
    expect(orders.worker).toContain('isolation');
    expect(orders.resources).toContain('workspaces/workspaces');
    expect(sources.flatMap((source) => wrongArrows(source, orders))).toEqual([]);
  });

  it.each([
    ['apps/secrets/src/kernel/storage/entries.ts', 'apps/secrets/src/kernel/tokens/tokens.ts'],
    ['apps/secrets/src/kernel/tokens/tokens.ts', 'apps/secrets/src/http/app.ts'],
    ['apps/secrets/src/backends/kv/backend.ts', 'apps/secrets/src/kernel/storage/entries.ts'],
    ['apps/secrets/src/backends/kv/backend.ts', 'apps/secrets/src/system/token/backend.ts'],
    ['apps/secrets/src/sdk/path.ts', 'apps/secrets/src/pipeline/pipeline.ts'],
    ['apps/secrets/src/extras/thing.ts', 'apps/secrets/src/sdk/path.ts'],
    ['apps/workspaces/src/resources/people/users/service.ts', 'apps/workspaces/src/resources/runs/service.ts'],
    ['apps/workspaces/src/kernel/database/ids.ts', 'apps/workspaces/src/resources/runs/service.ts'],
    ['apps/workspaces/src/kernel/database/ids.ts', 'apps/secrets/src/sdk/path.ts'],
    ['apps/workspaces/src/worker/isolation/trial.ts', 'apps/workspaces/src/worker/tool/execute.ts'],
    ['apps/workspaces/src/worker/files/archive.ts', 'apps/workspaces/src/worker/deps.ts'],
    ['packages/envelope/src/index.ts', '@keystead/keyring'],
    ['apps/secrets/src/service.ts', '@keystead/testing'],
    ['apps/secrets/src/service.ts', '@keystead/auth/src/tokens'],
    ['apps/cli/src/main.ts', '@keystead/secrets'],
    ['apps/console/src/design/page.tsx', 'apps/console/src/shell/session.ts'],
    ['apps/console/src/secrets/root.tsx', 'apps/console/src/workspaces/filters.ts'],
  ])('of %s may not be %s', (file, from) => {
    const imported = { from, file: from.startsWith('@') ? undefined : from, typeOnly: false };
    expect(wrongArrows({ ...emptySource, file, imports: [imported] }, readOrders(root))).toHaveLength(1);
  });

  it('form no cycle between files, including type-only imports', () => {
    expect(cycles(product)).toEqual([]);
  });

  it('name packages that their own package.json declares', () => {
    expect(sources.flatMap(undeclared)).toEqual([]);
  });

  it('have one version each, listed in the catalog of pnpm-workspace.yaml where several packages use it', () => {
    const folders = new Set(sources.map(({ file }) => homeOf(file)));
    const versions = new Map<string, string[]>();
    for (const [name, version] of [...folders].flatMap((folder) => versionsIn(folder, false))) {
      versions.set(name, [...(versions.get(name) ?? []), version]);
    }
    const written = [...versions].filter(([, all]) => all.length > 1 && all.some((one) => /^\d/.test(one)));
    // The compiler of generated clients is not ours.
    expect(written.map(([name]) => name)).toEqual(['typescript']);
  });

  it('keep the web framework at the edge', () => {
    const edge = /^(http\/|(main|service|worker|agent|worker-main)\.ts)/;
    const inside = apps.filter((source) => !edge.test(inApp(source)));
    expect(offending(inside, (source) => imports(source, ['express'], true))).toEqual([]);
    expect(offending(inside, (source) => imports(source, ['@keystead/server'], false))).toEqual([]);
  });

  it('send statements only from the kernel of the secrets service', () => {
    const outside = sources.filter(
      // Statements of the engine go to databases of others.
      ({ file, test }) =>
        !test && /^apps\/secrets\/src\/(?!kernel\/|generated\/|backends\/database\/drivers\/)/.test(file),
    );
    expect(outside.length).toBeGreaterThan(100);
    const sends = /\bprisma\.(\w+\.\w+\(|\$)|\.query[<(]/;
    expect(sends.test('storage.database.prisma.setting.findUnique({')).toBe(true);
    expect(sends.test('await database.query<Row>(SEARCH')).toBe(true);
    expect(offending(outside, ({ text }) => sends.test(text))).toEqual([]);
  });

  it('send named statements where decision 0005 says why, and nowhere else', () => {
    const page = readFileSync(
      join(root, 'docs/internals/decisions/0005-prisma-for-ordinary-queries-prepared-statements-for-hot-ones.md'),
      'utf8',
    );
    const places = [...page.matchAll(/^\| (`kernel\/.*?) \|/gm)].flatMap(([, cell = '']) => reasonedPlaces(cell));
    expect(places).toContain('apps/secrets/src/kernel/tokens');
    const sends = product.filter(
      ({ file, text }) => file.startsWith('apps/secrets/src/kernel/') && /\.query[<(]/.test(text),
    );
    expect(sends.length).toBeGreaterThan(20);
    const reasoned = ({ file, imports }: Source) =>
      places.some((place) => file === place || file.startsWith(`${place}/`)) ||
      imports.some((one) => one.file?.endsWith('/statements.ts') && places.includes(one.file));
    expect(offending(sends, (source) => !reasoned(source))).toEqual([]);
  });

  it('call other systems only from the places that check their `Reach`', () => {
    const modules = ['http', 'https', 'http2', 'net', 'tls', 'dgram', 'dns', 'dns/promises'].map(
      (name) => `node:${name}`,
    );
    const calls = /\b(?:request|get|connect|connectTls|createSocket|lookup)\(|new \w*Agent\(|\.connect\(/;
    const clients = /(?<!\.|async )\bfetch\(|new (?:IAM|STS|S3|\w*\.S3)Client\(|\bcreateTransport\(/;
    const dials = (source: Source) =>
      clients.test(source.text) || (imports(source, modules, false) && calls.test(source.text));
    const services = product.filter(({ file }) => /^(apps\/(secrets|workspaces)|packages)\//.test(file));
    const asks = /[rR]each\.(?:toward|lookup|allows)\b|\breach\?\.toward\b|\busualReach\b|\bagentsTo\(/;
    const places = offending(services, dials);
    const silent = offending(services, (source) => dials(source) && !asks.test(source.text));
    expect(silent).toEqual(Object.keys(withoutReach).sort());
    expect(places.length).toBeGreaterThan(silent.length + 5);
  });

  it('generate keys in one place, which keeps threads free for other work', () => {
    const generates = /\bgenerate(KeyPair|Key|Prime)(Sync)?\b/;
    const services = product.filter(({ file }) => !file.startsWith('packages/testing/'));
    expect(offending(services, ({ text }) => generates.test(text))).toEqual([
      'packages/auth/src/key-pair.ts',
      'packages/auth/src/rsa-thread.ts',
    ]);
  });

  it('parse values from outside in fields, so that parameter rules see the parsed value', () => {
    const backends = product.filter(({ file }) => /^apps\/secrets\/src\/(backends|system)\//.test(file));
    const reads = /\b(parseDuration|to(Seconds|Int|Bool|Text|List|Pairs|Objects?))\(/;
    expect(offending(backends, ({ text }) => reads.test(text))).toEqual([
      // Fields.
      'apps/secrets/src/backends/aws/signed-request.ts',
      'apps/secrets/src/backends/cloudtwo/config-lease.ts',
      // The ttl among the data of a secret.
      'apps/secrets/src/backends/kv/backend.ts',
      // A duration field, and the seconds of its stored value.
      'apps/secrets/src/backends/pki/kept-duration.ts',
      'apps/secrets/src/backends/transit/batch.ts',
      // Words of a template.
      'apps/secrets/src/system/identity/oidc/claims-template.ts',
      // Options, each of which is a string.
      'apps/secrets/src/system/sys/audit/audit-options.ts',
      // Other ways to request the same mount.
      'apps/secrets/src/system/sys/mounts/mount-fields.ts',
    ]);
  });

  it('build a schema once before they parse with it, because building takes a hundred times as long as parsing', () => {
    const makes =
      /\b(z\.\w+|partial|optional|extend|pick|omit|catchall|strict|nullable|array)\([^()]*\)\s*\.(safeParse|parse)\(/;
    expect(offending(product, ({ text }) => makes.test(text))).toEqual([]);
  });

  it('keep the database driver in the kernel and the packages made for it', () => {
    const kernel = /^(kernel\/|service\.ts|worker\.ts|backends\/database\/drivers\/)/;
    const outside = apps.filter((source) => !kernel.test(inApp(source)));
    expect(offending(outside, (source) => imports(source, ['pg', '@prisma/adapter-pg'], false))).toEqual([]);
  });
});

describe('waiting', () => {
  const page = readFileSync(join(root, 'docs/internals/architecture.md'), 'utf8');
  const section = page.slice(page.indexOf('## Who waits for what'), page.indexOf('## Words'));
  const services = product.filter(({ file }) => /^(apps\/(secrets|workspaces)\/src|packages)\//.test(file));

  it('has a row for every class that lets callers wait, and no row about a missing class', () => {
    const kinds =
      'Queues?|Mutex|Gate|Turns|Claims|Jobs|Background|BatchScheduler|Waiting|Watches|Bell|Committer|Decisions';
    const named = new RegExp(`^(?:export )?class (\\w*(?:${kinds}|Threads|Sweep|Reads|Writes))\\b`, 'gm');
    const classes = services.flatMap(({ file, text }) =>
      [...text.matchAll(named)].map(([, name]) => `\`${file}\` \`${name}\``),
    );
    const rows = [...section.matchAll(/^\| (`[^`]+` `\w+`) \|/gm)].map(([, row]) => row);
    expect(rows.sort()).toEqual(classes.sort());
  });

  it('lists every file that claims rows or takes a named lock in the database', () => {
    const takes = offending(services, ({ text }) => /SKIP LOCKED|pg_(try_)?advisory/.test(text));
    const database = section.slice(section.indexOf('Claims and locks that live in the database'));
    expect([...database.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => file).sort()).toEqual(takes);
  });
});

describe('the repository', () => {
  it('has no binary files except its pictures and recordings of releases', () => {
    const files = execFileSync('git', ['ls-files', '--eol'], { cwd: root, encoding: 'utf8' }).split('\n');
    const binary = files.filter((line) => line.startsWith('i/-text')).map((line) => line.split('\t')[1]!);
    expect(binary.filter((file) => !/\.webp$|^prisma\/released\/.*\.json\.gz$/.test(file))).toEqual([]);
  });
});

describe('source files', () => {
  it('keep no promise without a handler while they wait for something else', () => {
    const late = product.flatMap(({ file, text }) =>
      latePromises(text, file.endsWith('.tsx')).map(({ declaration }) => `${file}: ${declaration}`),
    );
    expect(late).toEqual([]);
  });

  it('are in folders named after a thing', () => {
    const vague = /(^|\/)(utils?|helpers?|common|lib|libs|types|misc|shared)\//;
    expect(offending(sources, (source) => vague.test(source.file))).toEqual([]);
  });

  it('have kebab-case names', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.(property|interop|thorough|long|config))?(\.test)?\.([cm]?ts|tsx)$/;
    expect(offending(sources, (source) => !kebab.test(basename(source.file)))).toEqual([]);
  });

  it('are imported directly: only a package has an index', () => {
    const index = sources.filter((source) => basename(source.file) === 'index.ts');
    expect(offending(index, (source) => !/^packages\/[^/]+\/src\/index\.ts$/.test(source.file))).toEqual([]);
  });

  it('read the environment only in config.ts; main.ts passes it on', () => {
    const readers = ['config.ts', 'main.ts', 'worker-main.ts'];
    expect(offending(apps, (source) => source.readsEnvironment && !readers.includes(inApp(source)))).toEqual([]);
  });

  it('create canonical paths in one place', () => {
    const makers = product.filter(({ text }) => /\bas (unknown as )?CanonicalPath\b|<CanonicalPath>/.test(text));
    expect(makers.map(({ file }) => file)).toEqual(['apps/secrets/src/kernel/routing/sent-path.ts']);
  });

  it('declare nothing under a name that the module loader defines', () => {
    // Tests run through a loader that accepts this, but the built program could not start.
    const taken =
      /^(export )?(default )?(async )?(function|const|let|class) (require|module|exports|__dirname|__filename)\b/m;
    expect(offending(product, ({ text }) => taken.test(text))).toEqual([]);
  });

  it('keep no state but constants', () => {
    const state = product.flatMap(({ file, moduleState }) => moduleState.map((name) => `${file}: ${name}`));
    expect(state).toEqual([
      // A page has one address; its query and fragment must survive a sign-in between two views of it.
      'apps/console/src/workspaces/before-sign-in/before-sign-in.tsx: wantsSignIn',
      'apps/console/src/workspaces/before-sign-in/one-time-link.tsx: rememberedSecret',
    ]);
  });

  it('declare no type name in a third file', () => {
    const files = new Map<string, string[]>();
    for (const { file, typeNames } of product.filter(({ test }) => !test)) {
      for (const name of typeNames) files.set(name, [...(files.get(name) ?? []), file]);
    }
    expect(files.get('Refusal')).toEqual(['packages/refusal/src/index.ts']);
    expect([...files].filter(([, declared]) => declared.length > 2)).toEqual([]);
  });

  it('cite sections that the specifications have', () => {
    const titles = new Set(specs.flatMap((spec) => [...sectionTitles(spec, root)]).map(plain));
    const cited = sources.flatMap((source) =>
      citationsOf(source).flatMap((text) => partsOf(text).map((part) => ({ file: source.file, part }))),
    );
    expect(cited.filter(({ part }) => !titles.has(plain(part))).map(({ file, part }) => `${file}: ${part}`)).toEqual(
      [],
    );
  });
});

const emptySource: Source = {
  file: '',
  text: '',
  test: false,
  imports: [],
  readsEnvironment: false,
  moduleState: [],
  typeNames: [],
  citations: [],
};

function offending(candidates: readonly Source[], wrong: (source: Source) => boolean): string[] {
  return candidates.filter(wrong).map((source) => source.file);
}

function imports(source: Source, names: readonly string[], evenTypes: boolean): boolean {
  return source.imports.some((imported) => names.includes(imported.from) && (evenTypes || !imported.typeOnly));
}

/**
 * Files and folders of a cell such as "`kernel/audit/chain.ts`, `chain-search.ts`": a file without a folder is in the
 * folder of the file before it.
 */
function reasonedPlaces(cell: string): string[] {
  const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const folder = dirname(names[0] ?? '');
  return names.map((name) => join('apps/secrets/src', name.startsWith('kernel/') ? name : join(folder, name)));
}

/** `Spec:` lines of docstrings, and the `spec` property of declarations. */
function citationsOf(source: Source): string[] {
  if (source.file === basename(__filename)) return [];
  const docstrings = [...source.text.matchAll(/^\s*(?:\/\*)?\*+ (?:.*\s)?Spec: (.*?)(?:\*\/)?$/gm)].map(
    (match) => match[1] ?? '',
  );
  return [...docstrings, ...source.citations];
}

/** Several sections are separated by semicolons; text in parentheses or after a comma is detail. */
function partsOf(citation: string): string[] {
  return citation
    .trim()
    .replace(/\.$/, '')
    .replace(/\([^)]*\)/g, '')
    .split(';')
    .map((part) => part.trim())
    .filter(Boolean);
}

function plain(title: string): string {
  return title
    .replace(/[(,:].*$/s, '')
    .replace(/ \d+(–\d+)?$/, '')
    .trim()
    .toLowerCase();
}

/** The folder whose package.json applies to a file. */
function homeOf(file: string): string {
  return /^((?:apps|packages)\/[^/]+|local|bench)\//.exec(file)?.[1] ?? '.';
}

function undeclared(source: Source): string[] {
  const home = homeOf(source.file);
  // Code for browsers is one bundle: its dependencies are not installed where the services run.
  const shipped = !source.test && home !== 'apps/console';
  const declared = new Set([...dependenciesOf(home, shipped), ...(source.test ? dependenciesOf('.', false) : [])]);
  return source.imports
    .filter((imported) => imported.file === undefined && !imported.from.startsWith('node:'))
    .map((imported) => imported.from.match(/^(@[^/]+\/)?[^/]+/)?.[0] ?? '')
    .filter((name) => !declared.has(name))
    .map((name) => `${source.file}: ${name} is not a dependency in ${join(home, 'package.json')}`);
}

function dependenciesOf(folder: string, productionOnly: boolean): string[] {
  return versionsIn(folder, productionOnly).map(([name]) => name);
}

/** Name and version of every dependency in a package.json. */
function versionsIn(folder: string, productionOnly: boolean): [string, string][] {
  const path = join(root, folder, 'package.json');
  if (!existsSync(path)) return [];
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string> | undefined>;
  const kinds = [
    'dependencies',
    'optionalDependencies',
    'peerDependencies',
    ...(productionOnly ? [] : ['devDependencies']),
  ];
  return kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}));
}

/** Cycles of imports, type-only imports included, each as its list of files. */
function cycles(candidates: readonly Source[]): string[] {
  const next = new Map(
    candidates.map((source) => [source.file, source.imports.filter((i) => i.file).map((i) => i.file ?? '')]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: string, trail: readonly string[]): void => {
    const seen = trail.indexOf(file);
    if (seen >= 0) found.push([...trail.slice(seen), file].join(' → '));
    if (seen >= 0 || done.has(file)) return;
    for (const target of next.get(file) ?? []) walk(target, [...trail, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return found;
}

describe('tables of strings', () => {
  // `constructor` and `__proto__` are found in every object. Names from callers must be looked up in a Map, or with
  // Object.hasOwn.
  const lookups = (text: string): string[] =>
    [...text.matchAll(/^(?:export )?const (\w+): [^=\n]*Record<string,[^=\n]* = \{/gm)].flatMap(([, name]) =>
      text
        .split('\n')
        .filter((line) => new RegExp(`(?<![\\w.])${name}\\[`).test(line) && !line.includes(`Object.hasOwn(${name},`)),
    );

  it('are never objects in which a name from a caller is looked up', () => {
    const inside = product.filter(({ file }) => !/^packages\/testing\/|\/stand-in/.test(file));
    expect(inside.flatMap(({ file, text }) => lookups(text).map((line) => `${file}: ${line.trim()}`))).toEqual([]);
  });

  it.each([
    ['const a: Readonly<Record<string, number>> = {};\nconst b = a[name];', 1],
    ['const a: Record<string, number> = {};\nconst b = Object.hasOwn(a, name) ? a[name] : 0;', 0],
    ['const a: Record<Kind, number> = {};\nconst b = a[name];', 0],
  ])('as seen in %j', (text, count) => expect(lookups(text)).toHaveLength(count));
});

import type { SpecRow } from '../conformance/rows';
import type { Mutant } from './mutant';

const verbs: Readonly<Record<string, string>> = { GET: 'read', POST: 'write', LIST: 'list', DELETE: 'delete' };

/** The backend and pattern behind a path of the specification; `read cubbyhole :path*`. */
function operationOf(method: string, path: string): string {
  const [address = '', query] = path.split('?');
  const verb = query === 'list=true' ? 'list' : verbs[method];
  const declared = address
    .replace(/^\/auth\//, '/')
    .replace(/^\/(\w+)\//, '$1 ')
    .replace('totp/:id', 'totp/:method_id')
    .replace(':path', ':path*');
  return `${verb} ${declared}`;
}

interface Shape {
  /** Operations that accept the field. */
  readonly writes: readonly string[];
  /** Operations that show it. */
  readonly reads: readonly string[];
  /** Fields that are never shown. */
  readonly hidden?: readonly string[];
  /** Fields that answers show under another name. */
  readonly shownAs?: Readonly<Record<string, string>>;
}

const methods = 'identity mfa/method/totp';
const shapes: Readonly<Record<string, Shape>> = {
  S3: { writes: ['write cloudone config'], reads: ['read cloudone config'] },
  S4: { writes: ['write cloudone role/:name'], reads: ['read cloudone role/:name'], hidden: ['policies'] },
  S6: {
    writes: [`write ${methods}`, `write ${methods}/:method_id`],
    reads: [`read ${methods}/:method_id`],
    hidden: ['max_validation_attempts'],
  },
  S10: {
    writes: ['write identity group-alias', 'write identity group-alias/id/:id'],
    reads: ['read identity group-alias/id/:id'],
  },
  S11: {
    writes: ['write scheduler config/access'],
    reads: ['read scheduler config/access'],
    hidden: ['token', 'max_token_name_length', 'ca_cert', 'client_cert', 'client_key'],
  },
  S12: {
    writes: ['write cloudtwo config/root'],
    reads: ['read cloudtwo config/root'],
    hidden: ['secret_key', 'username_template'],
  },
  S13: {
    writes: ['write cloudtwo roles/:name'],
    reads: ['read cloudtwo roles/:name'],
    hidden: ['policy', 'arn'],
    shownAs: { credential_type: 'credential_types' },
  },
};

/** The name of a role's token parameter in the properties of a login. */
const inLogin: Readonly<Record<string, string>> = {
  token_ttl: 'ttlSeconds',
  token_max_ttl: 'maxTtlSeconds',
  token_explicit_max_ttl: 'explicitMaxTtlSeconds',
  token_period: 'periodSeconds',
  token_policies: 'policies',
  token_bound_cidrs: 'boundCidrs',
  token_no_default_policy: 'noDefaultPolicy',
  token_num_uses: 'numUses',
  token_type: 'type',
};

/** Fields that their declaration requires; handlers check all others, for which there are explicit mutants. */
const isRequired = ({ id, cells }: SpecRow): boolean =>
  !/^S(3|6|12|13)\./.test(id) && cells.slice(2).some((cell) => /^(yes|required)$/.test(cell));

/** A wrong default, by the specified default. */
const otherDefault: Readonly<Record<string, string>> = {
  '0': '1',
  '1': '0',
  '5': '6',
  '6': '8',
  '20': '21',
  '30': '31',
  '200': '201',
  SHA1: '"SHA256"',
  false: 'true',
  '0 / empty': '77',
  '/': '"/x/"',
};

/** Mutants of a field that operations accept and show: ignored, optional, with a wrong default, or shown wrongly. */
function fieldRow({ writes, reads, hidden, shownAs }: Shape, row: SpecRow): Mutant[] {
  const { id, cells } = row;
  const part = (cells[0] ?? '').replace(/ \(legacy\)$/, '');
  const taken = id === 'S6.1' || id === 'S10.2' ? writes.slice(0, 1) : writes;
  const ignored = taken.map((of) => ({ of: `input of ${of}`, part, how: 'ignored' }));
  const name = shownAs?.[part] ?? part;
  const shown = hidden?.includes(part)
    ? []
    : reads.flatMap((of) => ['null', 'constant'].map((how) => ({ of: `answer of ${of}`, part: name, how })));
  const required = isRequired(row) ? [{ of: `input of ${writes[0]}`, part, how: 'not required' }] : [];
  const other = otherDefault[(cells[2] ?? '').replaceAll('`', '')];
  const supposed = other === undefined ? [] : [{ of: `input of ${writes[0]}`, part, how: `left out means ${other}` }];
  const minted = inLogin[part];
  const effect =
    id.startsWith('S4.') && minted !== undefined
      ? [{ of: 'answer of write cloudone login', part: minted, how: 'missing' }]
      : [];
  return [...ignored, ...required, ...supposed, ...shown, ...effect];
}

/** Tables of answers, with the operations that give them. */
const answers: Readonly<Record<string, { of: string; within?: string }[]>> = {
  S1: [{ of: 'envelope' }],
  S5: [{ of: 'envelope', within: 'auth.' }],
  S7: [{ of: `answer of write ${methods}/generate` }, { of: `answer of write ${methods}/admin-generate` }],
  S8: [{ of: 'answer of read sys rekey-recovery-key/init' }],
  S9: [{ of: 'answer of write sys rekey-recovery-key/update' }],
};

/** Constant values: only another value is wrong. */
const sameEverywhere = ['S1.4', 'S9.1'];

function answerRow(places: readonly { of: string; within?: string }[], { id, cells }: SpecRow): Mutant[] {
  const [name = '', type = ''] = cells;
  const ways = sameEverywhere.includes(id) ? ['other'] : type === 'bool' ? ['true', 'false'] : ['null', 'constant'];
  return places.flatMap(({ of, within = '' }) => ways.map((how) => ({ of, part: within + name, how })));
}

/** The mutants of a row of the specification's tables, derived from its text. */
export function mutantsOfSecrets(row: SpecRow): Mutant[] {
  const [table = ''] = row.id.split('.');
  const shape = shapes[table];
  if (shape !== undefined) return fieldRow(shape, row);
  const places = answers[table];
  if (places !== undefined) return answerRow(places, row);
  const number = Number(table.slice(1));
  if (number >= 15 && number <= 22) {
    return [{ of: operationOf(row.cells[0] ?? '', row.cells[1] ?? ''), part: '', how: 'missing' }];
  }
  return [];
}

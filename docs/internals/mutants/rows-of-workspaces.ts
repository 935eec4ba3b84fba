import type { SpecRow } from '../conformance/rows';
import type { Mutant } from './mutant';

/** Attributes with one constant value: only another value is wrong. */
const unvarying: Readonly<Record<string, readonly string[]>> = {
  organizations: [
    'saml-enabled',
    // Every reader of an organization may see it.
    'permissions.can-traverse',
    // Features that are not built are denied to everyone.
    'permissions.can-create-module',
    'permissions.can-manage-sso',
    'permissions.can-update-polengine',
    'permissions.can-manage-public-providers',
    'permissions.can-create-provider',
    'permissions.can-manage-public-modules',
    'permissions.can-manage-custom-providers',
    'permissions.can-manage-run-tasks',
    'permissions.can-read-run-tasks',
  ],
  workspaces: [
    'environment',
    'source',
    'last-assessment-result-at',
    'vcs-repo.webhook-url',
    'permissions.can-manage-run-tasks',
    // Every reader of a workspace may read its settings and its runs.
    'permissions.can-read-settings',
    'permissions.can-read-assessment-result',
    'permissions.can-read-assessment-results',
  ],
};

/** The ways in which a shown value can be wrong; a test that notices these also notices a missing one. */
function shownWrongly(of: string, part: string, type: string, fixed: boolean): Mutant[] {
  const ways = fixed ? ['other'] : type.includes('boolean') ? ['true', 'false'] : ['null', 'constant'];
  return ways.map((how) => ({ of, part, how }));
}

/** A row of a resource's attributes: each attribute it names, and each member of an object. */
function attributeRow(type: string, { cells: [names = '', kind = '', notes = ''] }: SpecRow): Mutant[] {
  const of = `attributes of ${type}`;
  const fixed = unvarying[type] ?? [];
  return names.split(', ').flatMap((name) => {
    if (!kind.startsWith('object')) return shownWrongly(of, name, kind, fixed.includes(name));
    const members = notes.split(', ').map((member) => member.replace(/ .*/, ''));
    const inner = kind === 'object of booleans' || name === 'actions' ? 'boolean' : 'string';
    return members.flatMap((member) => {
      const path = `${name}.${member}`;
      return shownWrongly(of, path, member === 'ingress-submodules' ? 'boolean' : inner, fixed.includes(path));
    });
  });
}

/** A wrong default of an attribute, derived from the specified one. */
function otherDefault(type: string, given: string): string | undefined {
  if (given.includes('required') || given === 'unchanged') return undefined;
  if (type === 'boolean') return given === 'false' ? 'true' : 'false';
  if (given === '`remote`') return '"local"';
  if (given === '`password`') return '"two_factor_mandatory"';
  if (type === 'list') return '["x"]';
  if (type === 'integer') return '77';
  return undefined;
}

/** Attributes whose wrong values are also refused by later checks: an unknown pool, a repository without identifier. */
const refusedTwice = ['agent-pool-id', 'vcs-repo'];

/** Mutants of a row of a request's body: ignored, unchecked, or with a wrong default, on create and on update. */
function bodyRow(create: string, update: string, { cells }: SpecRow): Mutant[] {
  const [path = '', type = '', given = '', rules = ''] = cells;
  const part = path.replace(/^data\.(attributes|relationships)\./, '').replace(/\.data\.id$/, '');
  const [made, changed] = [`body of ${create}`, `body of ${update}`];
  const on = given === 'update only' ? [changed] : rules.startsWith('create only') ? [made] : [made, changed];
  const ignored = on.map((of) => ({ of, part, how: 'ignored' }));
  if (part.includes('.') || !path.startsWith('data.attributes')) return ignored;
  const other = otherDefault(type, given);
  const supposed = other === undefined ? [] : [{ of: made, part, how: `left out means ${other}` }];
  const unchecked = refusedTwice.includes(part) ? [] : on.map((of) => ({ of, part, how: 'unchecked' }));
  return [...ignored, ...unchecked, ...supposed];
}

/**
 * Mutants of a row of the table of endpoints: missing, with another answer, ignoring a parameter, or in the wrong
 * edition.
 */
function endpointRow({ cells }: SpecRow): Mutant[] {
  const [method = '', path = '', request = '', success = ''] = cells;
  const of = `${method} ${path}`;
  const parameters = [...request.matchAll(/`(page\[\w+\])`/g)].map((match) => match[1]!);
  return [
    { of, part: '', how: 'missing' },
    { of, part: '', how: 'another status' },
    ...parameters.map((part) => ({ of: `query of ${of}`, part, how: 'ignored' })),
    ...([request, success].join(' ').includes('self-hosted edition only')
      ? [{ of, part: '', how: 'for every edition' }]
      : []),
  ];
}

/** The mutants of a row of the specification's tables, derived from its text. */
export function mutantsOfWorkspaces(row: SpecRow): Mutant[] {
  const [table = ''] = row.id.split('.');
  switch (table) {
    case 'W1':
      return attributeRow('organizations', row);
    case 'W2':
      return attributeRow('workspaces', row);
    case 'W3':
    case 'W5':
      return endpointRow(row);
    case 'W7':
      return [...endpointRow(row), { of: `${row.cells[0]} ${row.cells[1]}`, part: '', how: 'for every token' }];
    case 'W4':
      return bodyRow('POST /organizations', 'PATCH /organizations/:organization_name', row);
    case 'W6':
      return bodyRow('POST /organizations/:organization_name/workspaces', 'PATCH /workspaces/:workspace_id', row);
    default:
      return [];
  }
}

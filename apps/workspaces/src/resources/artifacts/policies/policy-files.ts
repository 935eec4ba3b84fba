import path from 'node:path';
import { z } from 'zod';
import { BadArchive } from '../../runs/configuration-versions/archive-check';
import { digestOf, type JudgingPolicy, type PolicyKind } from '../../runs/runs/stages/policies';
import { readInThread } from '../modules/reading-thread';
import { levelsOf, policyName, policyQuery } from './stored-policy';

/** A declaration in the file of a set, as written there. */
export interface DeclaredPolicies {
  readonly policies: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
}

/** The policies of a version, with the files that contain them. */
interface PolicyFiles {
  readonly policies: readonly JudgingPolicy[];
  readonly files: Readonly<Record<string, string>>;
}

const declarations = { opa: 'policies.hcl', sentinel: 'sentinel.hcl' } as const;

/** The files of an archive that concern policies, by kind. */
export const isPolicyFile = (kind: PolicyKind, file: string): boolean =>
  file === declarations[kind] || (kind === 'opa' && /\.(?:rego|json|ya?ml)$/.test(file) && !/(?:^|\/)\./.test(file));

const mostPolicies = 500;

/**
 * Reads the declarations in an archive. Throws `BadArchive` if it cannot be read, and for OPA policies without a query
 * or a level.
 */
export async function readPolicyFiles(
  kind: PolicyKind,
  contents: ReadonlyMap<string, Buffer>,
  /** The folder that contains the policies. */
  root: string,
): Promise<PolicyFiles> {
  const name = declarations[kind];
  const text = contents.get(name);
  if (!text)
    throw new BadArchive(root === '' ? `the archive has no ${name} at its root` : `${root}${name} does not exist`);
  const found = await readInThread<DeclaredPolicies>(
    path.join(__dirname, 'policies-thread'),
    new Map([[name, text]]),
    name,
  );
  if (typeof found === 'string') throw new BadArchive(found);
  if (found.policies.length > mostPolicies) throw new BadArchive(`${name} declares more than ${mostPolicies} policies`);
  const names = new Set<string>();
  const policies = found.policies.map((one) => {
    if (names.has(one.name)) throw new BadArchive(`${name} declares the policy ${one.name} twice`);
    names.add(one.name);
    return declaredPolicy(kind, name, one);
  });
  const files = Object.fromEntries(
    [...contents].flatMap(([file, bytes]) => (file === name ? [] : [[file, bytes.toString('utf8')]])),
  );
  if (kind === 'opa' && policies.length > 0 && !Object.keys(files).some((file) => file.endsWith('.rego'))) {
    throw new BadArchive('the archive has no .rego file');
  }
  return { policies, files };
}

function declaredPolicy(kind: PolicyKind, file: string, one: DeclaredPolicies['policies'][number]): JudgingPolicy {
  const parsed = z
    .object({
      name: policyName,
      query: kind === 'opa' ? policyQuery : z.unknown().optional(),
      enforcement_level: z.enum(levelsOf[kind]),
      description: z.string().max(1000).optional(),
    })
    .safeParse(one);
  if (!parsed.success) {
    const [{ path: at, message } = { path: [], message: '' }] = parsed.error.issues;
    throw new BadArchive(`${file}: ${at.join('.')} of the policy ${one.name.slice(0, 100)}: ${message}`);
  }
  const { name, query, enforcement_level: enforcementLevel, description = '' } = parsed.data;
  const text = JSON.stringify(one);
  return { name, query: String(query ?? ''), enforcementLevel, description, digest: digestOf(text) };
}

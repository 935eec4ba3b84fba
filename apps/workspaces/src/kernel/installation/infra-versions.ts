import semver from 'semver';

/** The newest patch number of every minor release. */
const minors: Readonly<Record<string, number>> = {
  '0.10': 8,
  '0.11': 15,
  '0.12': 31,
  '0.13': 7,
  '0.14': 11,
  '0.15': 5,
  '1.0': 11,
  '1.1': 9,
  '1.2': 9,
  '1.3': 10,
  '1.4': 7,
  '1.5': 7,
  '1.6': 6,
  '1.7': 5,
  '1.8': 5,
  '1.9': 8,
  '1.10': 5,
  '1.11': 4,
};

/**
 * Versions of the infrastructure tool that every installation knows, oldest first; site administrators may add more.
 */
export const shippedVersions: readonly string[] = Object.entries(minors).flatMap(([minor, newestPatch]) =>
  Array.from({ length: newestPatch + 1 }, (_, patch) => `${minor}.${patch}`),
);

/** The vendor's download address of a version. */
export const releaseUrl = (version: string): string =>
  `https://releases.hashicorp.com/terraform/${version}/terraform_${version}_linux_amd64.zip`;

/** A worker without a heartbeat for this long is treated as gone, together with its versions of the tool. */
export const workerSilenceSeconds = 45;

/** The word for "always the newest stable version". */
export const LATEST = 'latest';

const CLAUSE = /^(=|!=|>=|<=|>|<|~>)?\s*v?(\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?)$/;

/** True for an exact, complete version such as `1.11.4`. */
export function isExact(text: string): boolean {
  return /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(text);
}

function complete(version: string): string {
  const [numbers, ...pre] = version.split('-');
  const parts = numbers!.split('.');
  while (parts.length < 3) {
    parts.push('0');
  }
  return [parts.join('.'), ...pre].join('-');
}

/** The lowest version above the range of `~> 1.2` or `~> 1.2.3`. */
function above(version: string): string {
  const parts = version.split('-')[0]!.split('.').map(Number);
  const leading = parts.slice(0, Math.max(1, parts.length - 1));
  leading[leading.length - 1]! += 1;
  return complete(leading.join('.'));
}

type Test = (version: string) => boolean;

function clauseTest(clause: string): Test | undefined {
  const match = CLAUSE.exec(clause.trim());
  const versionText = match?.[2];
  if (versionText === undefined || semver.valid(complete(versionText)) === null) return undefined;
  const operand = complete(versionText);
  switch (match?.[1] ?? '=') {
    case '!=':
      return (version) => semver.neq(version, operand);
    case '>':
      return (version) => semver.gt(version, operand);
    case '>=':
      return (version) => semver.gte(version, operand);
    case '<':
      return (version) => semver.lt(version, operand);
    case '<=':
      return (version) => semver.lte(version, operand);
    case '~>':
      return (version) => semver.gte(version, operand) && semver.lt(version, above(versionText));
    default:
      return (version) => semver.eq(version, operand);
  }
}

/** A constraint such as `~> 1.3, != 1.3.4` as a predicate; undefined if it is not a constraint. */
export function parseConstraint(text: string): Test | undefined {
  const tests = text.split(',').map(clauseTest);
  return tests.every((test) => test !== undefined) ? (version) => tests.every((test) => test(version)) : undefined;
}

/**
 * The newest stable version among the given ones, or among those that a constraint allows; undefined if there is none.
 */
export function newest(versions: readonly string[], allowed: Test = () => true): string | undefined {
  const stable = versions.filter(
    (version) => semver.valid(version) !== null && semver.prerelease(version) === null && allowed(version),
  );
  return stable.sort(semver.rcompare)[0];
}

/** Whether an exact version, `latest` or a constraint always means a version at least as new as another. */
export function allowsAtLeast(text: string, oldest: string): boolean {
  if (text === LATEST) return true;
  const chosen = isExact(text) ? text : newest(shippedVersions, parseConstraint(text));
  // A constraint that allows no known version means newer versions.
  return chosen === undefined || semver.gte(chosen, oldest);
}

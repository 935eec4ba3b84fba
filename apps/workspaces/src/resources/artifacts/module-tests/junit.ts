/** The parts of a line of a test log that the report uses. */
interface Line {
  readonly type?: string;
  readonly '@testfile'?: string;
  readonly '@testrun'?: string;
  readonly '@message'?: string;
  readonly test_run?: {
    readonly path?: string;
    readonly run?: string;
    readonly status?: string;
    readonly progress?: string;
    readonly elapsed?: number;
  };
  readonly diagnostic?: { readonly severity?: string; readonly summary?: string; readonly detail?: string };
}

interface Case {
  readonly file: string;
  readonly name: string;
  status: string;
  seconds: number;
  readonly problems: string[];
}

const mostCases = 10_000;

/** Escapes text for XML. Other control characters are removed, because XML cannot contain them in any spelling. */
const xml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      '',
    )
    .replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

function read(line: string): Line | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/** Converts the lines of a test log to the JUnit format that CI systems read. */
export async function junitOf(name: string, lines: AsyncIterable<string>): Promise<string> {
  const cases = new Map<string, Case>();
  const files = new Map<string, Case[]>();
  const caseOf = (file: string, run: string): Case | undefined => {
    const key = `${file}\n${run}`;
    if (!cases.has(key) && cases.size < mostCases) {
      const testCase: Case = { file, name: run, status: 'pending', seconds: 0, problems: [] };
      cases.set(key, testCase);
      const others = files.get(file);
      if (others) others.push(testCase);
      else files.set(file, [testCase]);
    }
    return cases.get(key);
  };
  for await (const line of lines) {
    const event = read(line);
    if (event?.type === 'test_run' && event.test_run) {
      const { path = '', run = '', status, elapsed } = event.test_run;
      const one = caseOf(String(path), String(run));
      if (one && status && status !== 'pending') one.status = String(status);
      if (one && typeof elapsed === 'number') one.seconds = elapsed / 1000;
    }
    const file = event?.['@testfile'];
    if (event?.type !== 'diagnostic' || file === undefined || event.diagnostic?.severity !== 'error') continue;
    const { summary = '', detail = '' } = event.diagnostic;
    caseOf(String(file), String(event['@testrun'] ?? ''))?.problems.push(`${summary}\n${detail}`.trim());
  }
  const suites = [...files].map(([file, all]) => {
    const count = (...statuses: string[]) => all.filter(({ status }) => statuses.includes(status)).length;
    const counts = `tests="${all.length}" failures="${count('fail')}" errors="${count('error')}" skipped="${count('skip', 'pending')}"`;
    return `  <testsuite name="${xml(file)}" ${counts}>\n${all.map(caseXml).join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="${xml(name)}">\n${suites.join('')}</testsuites>\n`;
}

const tags: ReadonlyMap<string, string> = new Map([
  ['fail', 'failure'],
  ['error', 'error'],
  ['skip', 'skipped'],
  ['pending', 'skipped'],
]);

function caseXml({ file, name, status, seconds, problems }: Case): string {
  const head = `    <testcase name="${xml(name)}" classname="${xml(file)}" time="${seconds}"`;
  const tag = tags.get(status);
  if (tag === undefined) return `${head}/>\n`;
  const [first = ''] = problems;
  const message = tag === 'skipped' ? '' : ` message="${xml(first.split('\n')[0] ?? '')}"`;
  return `${head}>\n      <${tag}${message}>${xml(problems.join('\n\n'))}</${tag}>\n    </testcase>\n`;
}

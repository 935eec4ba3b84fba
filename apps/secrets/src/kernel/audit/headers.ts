/** How the values of an audited header appear in a line. */
export interface HeaderRule {
  /** As keyed hashes; otherwise as they are. */
  readonly hmac: boolean;
}

/** Values of headers as they were sent, by name in lower case. */
export type SentHeaders = Readonly<Record<string, readonly string[]>>;

/** Headers that carry credentials: their values are never in a line in the clear. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-service-mfa',
  'x-service-token',
  'x-vault-mfa',
  'x-vault-token',
]);

/** True of headers that can be audited as keyed hashes only; `name` in lower case. */
export const holdsCredential = (name: string): boolean => credentials.has(name);

/** Which headers of requests their audit lines include. */
export class AuditedHeaders {
  private rules: ReadonlyMap<string, HeaderRule> = new Map();

  constructor(private readonly hash: (text: string) => string) {}

  /** By name in lower case. */
  use(rules: ReadonlyMap<string, HeaderRule>): void {
    this.rules = rules;
  }

  /** The audited headers of a request; undefined if it has none. */
  of(sent: (name: string) => readonly string[] | undefined): SentHeaders | undefined {
    let found: Record<string, readonly string[]> | undefined;
    for (const name of this.rules.keys()) {
      const values = sent(name);
      if (values === undefined) continue;
      found ??= Object.create(null) as Record<string, readonly string[]>;
      found[name] = values;
    }
    return found;
  }

  /** The headers as a member of the line's request object, with a comma in front. */
  text(sent: SentHeaders): string {
    const members = Object.entries(sent).map(([name, values]) => {
      const isClear = this.rules.get(name)?.hmac === false && !holdsCredential(name);
      return `${JSON.stringify(name)}:${JSON.stringify(isClear ? values : values.map(this.hash))}`;
    });
    return `,"headers":{${members.join(',')}}`;
  }
}

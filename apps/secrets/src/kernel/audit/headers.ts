/** How the values of an audited header appear in a line. */
export interface HeaderRule {
  /** True if they appear as keyed hashes, false if unchanged. */
  readonly hmac: boolean;
}

/** Values of headers as they were sent, by name in lower case. */
export type SentHeaders = Readonly<Record<string, readonly string[]>>;

/** Headers that carry credentials: their values never appear unhashed in a line. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-service-mfa',
  'x-service-token',
  'x-vault-mfa',
  'x-vault-token',
]);

/** True if a header can be audited only as a keyed hash; `name` is in lower case. */
export const holdsCredential = (name: string): boolean => credentials.has(name);

/** The headers of requests that audit lines include. */
export class AuditedHeaders {
  private rules: ReadonlyMap<string, HeaderRule> = new Map();

  constructor(private readonly hash: (text: string) => string) {}

  /** Sets the rules; the keys are header names in lower case. */
  use(rules: ReadonlyMap<string, HeaderRule>): void {
    this.rules = rules;
  }

  /** The audited headers of a request; undefined if it has none. */
  of(request: { header(name: string): readonly string[] | undefined }): SentHeaders | undefined {
    let found: Record<string, readonly string[]> | undefined;
    for (const name of this.rules.keys()) {
      const values = request.header(name);
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

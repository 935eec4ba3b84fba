/** An answer that deliberately differs from that of a released version. */
export interface Difference {
  readonly of: string;
  /**
   * Where, in the notation of differences: service, path, path in the body or the caller, the old and the new value.
   */
  readonly where: RegExp;
  readonly why: string;
}

/** Deliberate differences of later versions, one entry each. Each entry must occur. */
export const differences: readonly Difference[] = [
  {
    of: '0.1.0',
    where: /\/sys\/(health|seal-status)\S* \/version: ".*" is "1\.19\.0\+keystead\..*"$/,
    why: 'clients are shown the version of the interface up to which they may ask',
  },
  {
    of: '0.2.0',
    where: /\/config \/warnings\/0: "this answer holds .* is "this response contains /,
    why: 'the warning about secrets in responses has other words',
  },
  {
    of: '0.2.0',
    where: /\/sys\/polic(y|ies\/acl)\/default \S+: "# Look up/,
    why: 'the comments of the default policy have other words',
  },
  {
    of: '0.1.0',
    where: /last-used-at: /,
    why: 'asking is using',
  },
  {
    of: '0.1.0',
    where: /\/one-time-links\/\S+ \/data\/attributes\/expired-at: /,
    why: 'what was to end soon has as much time left as it had then',
  },
  {
    of: '0.1.0',
    where: /\/auth\/token\/accessors\?list=true \/data\/keys\/\d+: /,
    why: 'accessors come page by page, in the order of their hashes',
  },
  {
    of: '0.1.0',
    where: /\/identity\/group\/\S+ \/data\/member_entity_ids: \[\] is null$/,
    why: 'an external group without members has none, as existing clients expect',
  },
  {
    of: '0.1.0',
    where: /\/sys\/internal\/ui\/mounts\/\S+ as (child|periodic|person): 200 is 403$/,
    why: 'mounts are shown only to callers who may reach something in them',
  },
  {
    of: '0.1.0',
    where: /\/sys\/plugins\/catalog\S* \/data\/\w+: 4 became \d+$/,
    why: 'the catalogue also has the names that existing clients mount by',
  },
  {
    of: '0.1.0',
    where: /^secrets in below \/v1\/sys\/quotas\//,
    why: 'the namespace of an old quota is not known: all became those of the root namespace',
  },
  {
    of: '0.1.0',
    where: /\/users\/\S+\/authentication-tokens (as \w+: 200 is 404|\/data: \[\] is absent)$/,
    why: "people's tokens are listed only to themselves",
  },
  {
    of: '0.1.0',
    where: /\/relationships\/subscription\/links: \{.*\} is absent$/,
    why: 'the link led nowhere',
  },
  {
    of: '0.1.0',
    where: /hosted-json-state-upload-url: ".*" is null$/,
    why: 'upload links are only in the answer to the caller who announced the state',
  },
  {
    of: '0.1.0',
    where: /\/data-retention-policy\/preview as \w+: 200 is 404$/,
    why: 'what a policy would delete is shown to callers who may change it',
  },
  {
    of: '0.1.0',
    where: /\/audit-events \/data\/\d+\/attributes\/after\/value: "\(sensitive\)" is "\(not shown\)"$/,
    why: 'events hold no values of variables, and a migration took them out of older ones',
  },
  {
    of: '0.1.0',
    where: /\/sys\/ha-status \S*\/nodes\/0\/version: /,
    why: 'a node says its own version',
  },
  {
    of: '0.1.0',
    where: /\/sys\/version-history\S* \/data\/keys: /,
    why: 'the history of releases has one more',
  },
  {
    of: '0.1.0',
    where: /\/(effective-)?tag-bindings \/data\/\d+\/links: \{\} is absent$/,
    why: 'what has no links has no `links`',
  },
  {
    of: '0.2.0',
    where: /\/(effective-)?tag-bindings \/data\/\d+\/links: \{\} is absent$/,
    why: 'what has no links has no `links`',
  },
  {
    of: '0.2.0',
    where: /\/sys\/plugins\/catalog\S* \/data\/(auth|detailed|keys|secret): \d+ became \d+$/,
    why: 'kinds of login came: aws, cert, github, kubernetes, ldap, oidc; and the engines transit, pki, ssh, totp, database and kubernetes',
  },
  {
    of: '0.2.0',
    where: /last-used-at: /,
    why: 'asking is using',
  },
  {
    of: '0.2.0',
    where: /\/one-time-links\/\S+ \/data\/attributes\/expired-at: /,
    why: 'what was to end soon has as much time left as it had then',
  },
  ...['0.1.0', '0.2.0'].map((of) => ({
    of,
    where: /\/fair-run-queuing-enabled: false is true$/,
    why: 'the organization with the fewest runs in progress goes first by default',
  })),
  ...['0.1.0', '0.2.0'].flatMap((of) =>
    [
      [/-url: "https:.*" is "https:.*\buser\.user-.*"$/, 'signed links name the caller they were made for'],
      [/\/variables: null is \[\]$/, 'a run without variables has an empty list'],
      [
        /\/(infra|terraform)-versions\S* \/data\/(\d+\/)?attributes\/url: null is "https:/,
        'shows where it is downloaded from',
      ],
      [
        /\/one-time-links\/\S+ \/data\/attributes\/needs-\w+: true is false$/,
        'callers who are signed in join with their account',
      ],
      [/\/one-time-links\/\S+ as agent: 200 is 401$/, 'tokens of agents are for agents only'],
      [/\/runs\/\S+\/stream : "retry: .* is "retry: /, 'events of a run hold its variables and links'],
      [/\/claims_supported: \d+ became \d+$/, 'runs prove who they are to clouds'],
      [
        /\/permissions\/can-(create-(module|provider)|update-(polengine|sentinel)|manage-(public-(modules|providers)|run-tasks|assessments)|read-run-tasks|override-policy-check): false is true$/,
        'there are a registry, run tasks, policies and assessments by hand to have rights to',
      ],
      [/\/private-run-tasks: true is false$/, 'agents call no services of run tasks'],
      [
        /\/admin\/(infra|terraform)-versions\S* \/data(\/\d+)?\/attributes\/archs: 0 became 1$/,
        'clients expect the archive of every version among its platforms',
      ],
      [
        /\/admin\/(infra|terraform)-versions \/(links\/last|meta\/pagination\/total-\w+): /,
        'nine more versions of the tool are known',
      ],
    ].map(([where, why]) => ({ of, where: where as RegExp, why: why as string })),
  ),
];

/** Answers that change with time, and so may differ or not: where, in the notation of differences. */
export const aging: readonly RegExp[] = [
  // Signing keys rotate once a day, and earlier ones stay for a while.
  /\/\.well-known\/keys \/keys: \d became \d$/,
];

import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A team of the stand-in, of an organization. */
export interface StandInTeam {
  readonly name: string;
  readonly slug: string;
  readonly organization: number;
}

/** The owner of a token. */
export interface StandInMember {
  login: string;
  organizations: number[];
  teams: StandInTeam[];
}

/** The parts of GitHub's API that logins need: the owner of a token, their organizations and teams, in pages. */
export class GithubStandIn {
  readonly organizations = new Map([['acme', 42]]);
  readonly members = new Map<string, StandInMember>();
  /** Replaces the answer for paths with this prefix. */
  instead: [path: string, status: number, body: unknown, headers?: Record<string, string>] | undefined;
  readonly calls: string[] = [];
  readonly agents: (string | undefined)[] = [];
  private readonly server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    this.calls.push(request.url ?? '');
    this.agents.push(request.headers['user-agent']);
    const replaced = this.instead && url.pathname.startsWith(this.instead[0]) ? this.instead : undefined;
    const [status, body, headers] = replaced ? replaced.slice(1) : this.answer(url, request.headers.authorization);
    response.writeHead(Number(status), { 'content-type': 'application/json', ...(headers as Record<string, string>) });
    response.end(JSON.stringify(body));
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private answer(url: URL, authorization: string | undefined): [number, unknown] {
    const [, organization] = /^\/orgs\/([^/]+)$/.exec(url.pathname) ?? [];
    if (organization !== undefined) {
      const id = this.organizations.get(decodeURIComponent(organization).toLowerCase());
      return id === undefined ? [404, { message: 'Not Found' }] : [200, { id, login: organization }];
    }
    const member = this.members.get(authorization?.replace('Bearer ', '') ?? '');
    if (!member) return [401, { message: 'Bad credentials' }];
    const page = (all: readonly unknown[]): [number, unknown] => {
      const size = Number(url.searchParams.get('per_page'));
      const from = size * (Number(url.searchParams.get('page') ?? 1) - 1);
      return [200, all.slice(from, from + size)];
    };
    if (url.pathname === '/user') return [200, { login: member.login, id: 7 }];
    if (url.pathname === '/user/orgs') return page(member.organizations.map((id) => ({ id })));
    if (url.pathname !== '/user/teams') return [404, { message: 'Not Found' }];
    return page(member.teams.map(({ organization: id, ...team }) => ({ ...team, organization: { id } })));
  }
}

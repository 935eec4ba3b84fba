import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { useSession } from '../../shell/session';
import { policyPage } from '../pages';

interface Named {
  readonly id: string;
  readonly name: string;
}
interface WhoMayAnswer {
  readonly policies: readonly {
    readonly name: string;
    readonly allowed: boolean;
    readonly path: string | null;
    readonly line: number | null;
  }[];
  readonly groups: readonly Named[];
  readonly entities: readonly Named[];
  readonly complete: boolean;
}

/** Finds who may make a request. */
export function WhoMay({ path, operation }: { readonly path: string; readonly operation: string }) {
  const { transport } = useSession();
  const ask = useMutation({
    mutationFn: async () =>
      (await transport.call<{ data: WhoMayAnswer }>('POST', '/v1/sys/policies/who-may', { path, operation })).data,
  });
  const found = ask.data;
  return (
    <section className="stack-tight" aria-labelledby="who">
      <div className="row">
        <h2 id="who">Who may {operation} this?</h2>
        <Button small busy={ask.isPending} onClick={() => ask.mutate()}>
          Look
        </Button>
      </div>
      <p className="second small">
        Policies, groups and entities of this namespace. An entity is listed if its own policies allow it; policies that
        its login adds are not counted.
      </p>
      <ErrorNotice error={ask.error} />
      {found === undefined ? null : (
        <dl className="facts">
          <dt>Policies</dt>
          <dd>
            <ul className="stack-tight">
              {found.policies.map((policy) => (
                <li key={policy.name} className="row">
                  <Badge tone={policy.allowed ? 'green' : 'red'}>{policy.allowed ? 'allows' : 'does not'}</Badge>
                  <Link {...policyPage(policy.name)}>{policy.name}</Link>
                  <span className="second small">
                    <code>{policy.path}</code>, line {policy.line}
                  </span>
                </li>
              ))}
              {found.policies.length === 0 ? <li className="second">none</li> : null}
            </ul>
          </dd>
          <dt>Groups</dt>
          <dd>{found.groups.map(({ name }) => name).join(', ') || <span className="second">none</span>}</dd>
          <dt>Entities</dt>
          <dd>{found.entities.map(({ name }) => name).join(', ') || <span className="second">none</span>}</dd>
        </dl>
      )}
      {found?.complete === false ? (
        <p className="second">The list is incomplete: there were too many to check.</p>
      ) : null}
    </section>
  );
}

import { Link } from '@tanstack/react-router';
import { Copied } from '../design/copy';
import { PageHead, SameBy } from '../design/page';
import { Time } from '../design/time';
import { useSession } from '../shell/session';
import { Counts } from './counts';
import { holdsValues, kindOf, useMounts } from './mounts';
import { page } from './pages';

const areas = [
  ['/secrets', 'Secrets', 'look, write, compare versions, share once'],
  ['/policies/explain', 'May X do Y?', 'the rule that decides, and those that lost'],
  ['/leases', 'Leases', 'what lives, and when it ends'],
  ['/access', 'Access', 'who comes in, as whom, with which second factor'],
  ['/engines', 'Engines', 'what makes credentials, and its roles'],
  ['/audit', 'Audit', 'who changed what'],
] as const;

/** What this session is, and where to begin. */
export function Overview() {
  const { session } = useSession();
  const mounts = useMounts();
  return (
    <div className="stack">
      <PageHead title="Overview" />
      <Counts />
      <div className="columns">
        <div className="stack">
          <section className="stack-tight" aria-labelledby="values">
            <h2 id="values">Where values are kept</h2>
            <ul className="list">
              {mounts.secret.filter(holdsValues).map((mount) => (
                <li key={mount.path}>
                  <Link {...page('/secrets', { at: mount.path })}>{mount.path}</Link>
                  <span className="second small">
                    {kindOf(mount)}
                    {mount.description === '' ? '' : ` · ${mount.description}`}
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <section className="stack-tight" aria-labelledby="areas">
            <h2 id="areas">Where to go</h2>
            <ul className="list">
              {areas.map(([to, label, what]) => (
                <li key={to}>
                  <Link to={to}>{label}</Link>
                  <span className="second small">{what}</span>
                </li>
              ))}
            </ul>
          </section>
        </div>
        <section className="stack-tight" aria-labelledby="session">
          <h2 id="session">This session</h2>
          <dl className="facts">
            <dt>Signed in as</dt>
            <dd>{session.name}</dd>
            <dt>Policies</dt>
            <dd>{(session.policies ?? []).join(', ')}</dd>
            {session.namespace ? (
              <>
                <dt>Namespace</dt>
                <dd>{session.namespace}</dd>
              </>
            ) : null}
            {session.accessor ? (
              <>
                <dt>Accessor</dt>
                <dd>
                  <Copied text={session.accessor} what="accessor" />
                </dd>
              </>
            ) : null}
            <dt>Ends</dt>
            <dd>
              <Time at={session['expires-at']} />, or unused <Time at={session['idle-ends-at']} />
            </dd>
          </dl>
        </section>
      </div>
      <SameBy api="GET /v1/auth/token/lookup-self" command="keystead token lookup" />
    </div>
  );
}

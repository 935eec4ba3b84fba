import { PageHead, SameBy } from '../design/page';
import { useSession } from '../shell/session';

/** What this session is, and where to begin. */
export function Overview() {
  const { session } = useSession();
  return (
    <div className="stack">
      <PageHead title="Overview" />
      <dl className="facts">
        <dt>Signed in as</dt>
        <dd>{session.name}</dd>
        <dt>Policies</dt>
        <dd>{(session.policies ?? []).join(', ')}</dd>
      </dl>
      <SameBy api="GET /v1/auth/token/lookup-self" command="keystead token lookup" />
    </div>
  );
}

import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';

/** What the current policies would delete now. */
export function Preview({ found }: { readonly found: Resource<'DataRetentionPreviewsResource'> }) {
  const { 'state-versions': states, 'configuration-versions': configurations } = found.attributes;
  return (
    <section className="stack-tight" aria-labelledby="preview">
      <h2 id="preview">Data to delete now</h2>
      <p className="second">The current state of a workspace stays, however old it is.</p>
      {[
        { label: 'old state versions', ...states },
        { label: 'old configurations', ...configurations },
      ].map(({ label, count, 'first-ids': ids }) => (
        <details key={label} className="panel">
          <summary>
            <strong>{count.toLocaleString('en')}</strong> {label}
          </summary>
          {ids.length === 0 ? (
            <p className="second">None is old enough.</p>
          ) : (
            <ul>
              {ids.map((id) => (
                <li key={id}>
                  <Copied text={id} what="id" />
                </li>
              ))}
              {count > ids.length ? (
                <li className="second">and {(count - ids.length).toLocaleString('en')} more</li>
              ) : null}
            </ul>
          )}
        </details>
      ))}
    </section>
  );
}

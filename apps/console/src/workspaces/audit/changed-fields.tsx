/** The fields that a change altered, with their values before and after. */
export function ChangedFields({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  if (names.length === 0) return null;
  const list = (
    <ul className="small">
      {names.map((name) => (
        <li key={name}>
          <span className="second">{name}</span> {Object.hasOwn(old, name) ? <del>{shown(old[name])}</del> : null}{' '}
          {Object.hasOwn(now, name) ? <ins>{shown(now[name])}</ins> : null}
        </li>
      ))}
    </ul>
  );
  if (names.length <= 3) return list;
  return (
    <details>
      <summary className="small">{names.length} fields</summary>
      {list}
    </details>
  );
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : { value };
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

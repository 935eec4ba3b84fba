import type { ReactNode } from 'react';

/** A table with a name, which scrolls by itself where the window is narrow. A head of '' is for what has none. */
export function Table({
  label,
  head,
  children,
}: {
  readonly label: string;
  readonly head: readonly string[];
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div className="table-frame" tabIndex={0}>
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {head.map((text) => (
              <th key={text} scope="col">
                {text === '' ? <span className="visually-hidden">Actions</span> : text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

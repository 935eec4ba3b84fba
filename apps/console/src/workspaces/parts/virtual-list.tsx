import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';

export interface VirtualListProps<T> {
  readonly label: string;
  readonly count: number;
  readonly rowHeight: number;
  /** Undefined while the row loads. */
  readonly at: (index: number) => T | undefined;
  readonly row: (item: T) => ReactNode;
  /** Called with the rows that are in sight. */
  readonly onRange: (first: number, last: number) => void;
}

/** A list of any length that renders only the rows in sight. */
export function VirtualList<T>({ label, count, rowHeight, at, row, onRange }: VirtualListProps<T>) {
  const frame = useRef<HTMLElement>(null);
  const inner = useRef<HTMLUListElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    measureElement: (element) => element.getBoundingClientRect().height,
    overscan: 12,
  });
  const items = rows.getVirtualItems();
  const start = items[0]?.start ?? 0;
  const total = rows.getTotalSize();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    inner.current?.style.setProperty('min-height', `${total}px`);
    inner.current?.style.setProperty('padding-top', `${start}px`);
  }, [total, start]);
  useEffect(() => onRange(first, last), [first, last, onRange]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section ref={frame} className="virtual" aria-label={label} tabIndex={0}>
      <ul ref={inner} className="list">
        {items.map(({ index, key }) => {
          const item = at(index);
          return (
            <li key={key} data-index={index} ref={rows.measureElement} aria-setsize={count} aria-posinset={index + 1}>
              {item === undefined ? <span className="second">…</span> : row(item)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

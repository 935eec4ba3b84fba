import { Dialog } from '../design/dialog';
import type { NavItem } from './navigation';

/** Lists the keyboard shortcuts. */
export function Keys({ items, onClose }: { readonly items: readonly NavItem[]; readonly onClose: () => void }) {
  const fixed: readonly [string, string][] = [
    ['Ctrl K', 'Search and commands'],
    ['/', 'Search on this page'],
    ['j  k', 'Next and previous row'],
    ['?', 'Keyboard shortcuts'],
  ];
  const go = items.flatMap(({ key, label }): [string, string][] => (key === undefined ? [] : [[`g ${key}`, label]]));
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="facts">
        {[...fixed, ...go].map(([key, label]) => (
          <div key={key} className="row">
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

import { type KeyboardEvent, useRef } from 'react';

export interface TabChoice<Tab extends string> {
  readonly tab: Tab;
  readonly label: string;
}

/** Tabs of a part of a page. Arrow keys move between them. */
export function TabList<Tab extends string>({
  label,
  tabs,
  chosen,
  onChange,
}: {
  readonly label: string;
  readonly tabs: readonly TabChoice<Tab>[];
  readonly chosen: Tab;
  readonly onChange: (tab: Tab) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const move = ({ key }: KeyboardEvent) => {
    const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = (tabs.findIndex(({ tab }) => tab === chosen) + step + tabs.length) % tabs.length;
    onChange(tabs[at]!.tab);
    list.current?.querySelectorAll('button')[at]?.focus();
  };
  return (
    <div ref={list} className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ tab, label: text }) => (
        <button
          key={tab}
          type="button"
          role="tab"
          aria-selected={tab === chosen}
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => onChange(tab)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

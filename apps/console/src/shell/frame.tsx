import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Button } from '../design/button';
import { Icon } from '../design/icon';
import { Keys } from './keys';
import type { NavGroup } from './navigation';
import { type Find, Palette } from './palette';
import { useSession } from './session';
import { applyTheme, chosenTheme, type Theme, themes } from './theme';

export interface FrameProps {
  readonly nav: readonly NavGroup[];
  /** What the palette finds besides the pages. */
  readonly find?: Find;
}

/** The frame of every page: where one can go, who is here, and what a keyboard reaches. */
export function Frame({ nav, find }: FrameProps) {
  const { session, config, signOut } = useSession();
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const items = nav.flatMap((group) => group.items);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the menu
  useEffect(() => setMenu(false), [path]);
  useEffect(() => {
    let began = 0;
    const pressed = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
        event.preventDefault();
        setPalette(true);
        return;
      }
      const at = event.target as HTMLElement;
      if (
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) ||
        at.isContentEditable
      )
        return;
      if (event.key === '?') setKeys(true);
      else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('input[type=search]');
        if (search !== null) {
          event.preventDefault();
          search.focus();
        }
      } else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1);
      else if (event.key === 'g') began = event.timeStamp;
      else if (event.timeStamp - began < 1000) {
        const item = nav.flatMap((group) => group.items).find(({ key }) => key === event.key);
        if (item !== undefined) void navigate({ to: item.to });
        began = 0;
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [navigate, nav]);

  const change = (next: Theme) => {
    applyTheme(next);
    setTheme(next);
  };
  const other = config.service === 'secrets' ? config.other.workspaces : config.other.secrets;
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="top">
        <button
          type="button"
          className="icon-button menu-button"
          aria-label="Menu"
          aria-expanded={menu}
          onClick={() => setMenu(!menu)}
        >
          <Icon path="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />
        </button>
        <Link to="/" className="name">
          Keystead {config.service}
        </Link>
        <span className="grow" />
        <Button small kind="quiet" onClick={() => setPalette(true)}>
          <span className="wide-only short">Search </span>
          <kbd>Ctrl K</kbd>
        </Button>
        <span className="who wide-only" title={`${session.kind} ${session.name}`}>
          {session.name}
        </span>
        <Button small onClick={() => void signOut()}>
          Sign out
        </Button>
      </header>
      <nav className={menu ? 'rail open' : 'rail'} aria-label="Pages">
        {nav.map((group) => (
          <div key={group.label ?? ''}>
            {group.label === undefined ? null : <h2>{group.label}</h2>}
            <ul>
              {group.items.map((item) => (
                <li key={item.to}>
                  <Link to={item.to} activeOptions={{ exact: item.exact ?? item.to === '/', includeSearch: false }}>
                    <span>{item.label}</span>
                    {item.count === undefined || item.count === 0 ? null : <span className="second">{item.count}</span>}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <div>
          <h2>Elsewhere</h2>
          <ul>
            {other === undefined ? null : (
              <li>
                <a href={`${other}/ui/`}>{config.service === 'secrets' ? 'Workspaces' : 'Secrets'}</a>
              </li>
            )}
            <li>
              <a href="/docs">API</a>
            </li>
          </ul>
        </div>
      </nav>
      <main id="main" className="main" tabIndex={-1}>
        <Outlet />
      </main>
      {palette ? (
        <Palette
          onClose={() => setPalette(false)}
          find={find}
          commands={[
            ...items.map(({ label, to }) => ({ label, group: 'Go to', run: () => void navigate({ to }) })),
            ...themes
              .filter((one) => one !== theme)
              .map((one) => ({ label: `Theme: ${one}`, group: 'Look', run: () => change(one) })),
            { label: 'Sign out', group: 'You', run: () => void signOut() },
          ]}
        />
      ) : null}
      {keys ? <Keys items={items} onClose={() => setKeys(false)} /> : null}
    </div>
  );
}

/** Moves to the next or the previous row of the list on the page: its first link. */
function step(by: number): void {
  const rows = [
    ...document.querySelectorAll<HTMLElement>(
      'main .table tbody tr a:first-of-type, main .list > li > a:first-of-type',
    ),
  ];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
}

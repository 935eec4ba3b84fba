import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import {
  BookOpen,
  Boxes,
  Check,
  ChevronsUpDown,
  Clock,
  Globe,
  Keyboard,
  KeyRound,
  LogOut,
  Menu as MenuIcon,
  Monitor,
  Moon,
  Search,
  Sun,
} from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { Mark } from '../design/mark';
import { Menu, MenuChoice, MenuItem, MenuRule } from '../design/menu';
import { CrumbsContext } from '../design/page';
import { chooseTimeZone, useTimeZone } from '../design/time-zone';
import type { NavGroup } from './navigation';
import type { Find } from './palette';
import { useSession } from './session';
import { useShortcuts } from './shortcuts';
import { applyTheme, chosenTheme, type Theme } from './theme';

const loadPalette = () => import('./palette');
const Palette = lazy(() => loadPalette().then((m) => ({ default: m.Palette })));
const Keys = lazy(() => import('./keys').then((m) => ({ default: m.Keys })));

export interface FrameProps {
  readonly nav: readonly NavGroup[];
  /** Chooses the namespace or organization that the pages show. */
  readonly switcher: ReactNode;
  /** Finds objects for the palette, in addition to pages. */
  readonly find?: Find;
}

const services = [
  { service: 'secrets', label: 'Secrets', icon: KeyRound },
  { service: 'workspaces', label: 'Workspaces', icon: Boxes },
] as const;

const looks = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const;

const zones = [
  { value: 'local', label: 'Local time', icon: Clock },
  { value: 'utc', label: 'UTC', icon: Globe },
] as const;

/** The frame of every page: navigation, account menu, keyboard shortcuts. */
export function Frame({ nav, switcher, find }: FrameProps) {
  const signOut = useSignOut();
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const [crumbs, setCrumbs] = useState<HTMLElement | null>(null);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const items = useMemo(() => nav.flatMap((group) => group.items), [nav]);
  const open = useMemo(() => ({ palette: () => setPalette(true), keys: () => setKeys(true) }), []);
  const ahead = useShortcuts(items, open);
  // Loaded before the shortcut is pressed, so that the palette receives what is typed next.
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), 300);
    return () => clearTimeout(timer);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the menu
  useEffect(() => setMenu(false), [path]);
  const change = (next: Theme) => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className={menu ? 'rail open' : 'rail'}>
        <div className="rail-head">
          <ServiceSwitch />
          {switcher}
        </div>
        <nav className="rail-pages" aria-label="Pages">
          {nav.map((group) => (
            <div key={group.label ?? ''}>
              {group.label === undefined ? null : <p id={`pages-${group.label}`}>{group.label}</p>}
              <ul aria-labelledby={group.label === undefined ? undefined : `pages-${group.label}`}>
                {group.items.map(({ to, label, icon: Shape, exact, also, count }) => (
                  <li key={to}>
                    <Link
                      to={to}
                      activeOptions={{ exact: exact ?? to === '/', includeSearch: false }}
                      {...(also?.some((place) => path.endsWith(place)) ? { 'aria-current': 'page' } : {})}
                    >
                      <Shape size={16} aria-hidden="true" />
                      <span>{label}</span>
                      {count === undefined || count === 0 ? null : <span className="count">{count}</span>}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div className="rail-foot">
          <AccountMenu theme={theme} onTheme={change} onKeys={open.keys} />
        </div>
      </div>
      <header className="top">
        <button
          type="button"
          className="icon-button menu-button"
          aria-label="Menu"
          aria-expanded={menu}
          onClick={() => setMenu(!menu)}
        >
          <MenuIcon size={18} aria-hidden="true" />
        </button>
        <div className="crumbs-place" ref={setCrumbs} />
        <button type="button" className="palette-button" onClick={open.palette}>
          <Search size={15} aria-hidden="true" />
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </button>
      </header>
      <main id="main" className="main" tabIndex={-1}>
        <CrumbsContext.Provider value={crumbs}>{crumbs === null ? null : <Outlet />}</CrumbsContext.Provider>
      </main>
      <Suspense>
        {palette ? (
          <Palette
            onClose={() => setPalette(false)}
            takeTyped={ahead.take}
            find={find}
            commands={[
              ...items.map(({ label, icon, to }) => ({
                label,
                icon,
                group: 'Go to',
                run: () => void navigate({ to }),
              })),
              ...looks
                .filter(({ value }) => value !== theme)
                .map(({ value, icon }) => ({
                  label: `Theme: ${value}`,
                  icon,
                  group: 'Actions',
                  run: () => change(value),
                })),
              { label: 'Sign out', icon: LogOut, group: 'Actions', run: () => void signOut() },
            ]}
          />
        ) : null}
        {keys ? <Keys items={items} onClose={() => setKeys(false)} /> : null}
      </Suspense>
    </div>
  );
}

/** Signs out and leaves the page, so that the next user does not see it. */
function useSignOut() {
  const { signOut } = useSession();
  const navigate = useNavigate();
  return async () => {
    await signOut();
    await navigate({ to: '/', replace: true });
  };
}

/** The product's name, with a link to its other service. */
function ServiceSwitch() {
  const { config } = useSession();
  return (
    <Menu
      wide
      button={
        <button type="button" className="rail-button" title="Switch service">
          <Mark />
          <span className="grow">
            Keystead <span className="second">{config.service}</span>
          </span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </button>
      }
    >
      {services.map(({ service, label, icon }) => {
        const isHere = config.service === service;
        const at = isHere ? '' : config.other[service];
        if (at === undefined) return null;
        return (
          <MenuItem key={service} icon={icon} link={<a href={`${at}/ui/`}>{label}</a>}>
            {label}
            {isHere ? <Check className="end" size={14} aria-hidden="true" /> : null}
          </MenuItem>
        );
      })}
      <MenuRule />
      <MenuItem icon={BookOpen} link={<a href="/docs">API reference</a>}>
        API reference
      </MenuItem>
    </Menu>
  );
}

/** The account menu: name, theme, sign-out. */
function AccountMenu({
  theme,
  onTheme,
  onKeys,
}: {
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
  readonly onKeys: () => void;
}) {
  const { session } = useSession();
  const signOut = useSignOut();
  const zone = useTimeZone();
  return (
    <Menu
      wide
      side="top"
      button={
        <button
          type="button"
          className="rail-button"
          aria-label={`Account of ${session.name}`}
          title={`${session.kind} ${session.name}`}
        >
          <span className="avatar" data-initial={session.name.slice(0, 1)} />
          <span className="grow">{session.name}</span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </button>
      }
    >
      <MenuChoice label="Theme" value={theme} options={looks} onChange={onTheme} />
      <MenuRule />
      <MenuChoice label="Time zone" value={zone} options={zones} onChange={chooseTimeZone} />
      <MenuRule />
      <MenuItem icon={Keyboard} onClick={onKeys}>
        Keyboard shortcuts
      </MenuItem>
      <MenuItem icon={LogOut} onClick={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

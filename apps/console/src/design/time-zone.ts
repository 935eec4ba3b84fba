import { useSyncExternalStore } from 'react';

export const timeZones = ['local', 'utc'] as const;
export type TimeZone = (typeof timeZones)[number];

const key = 'keystead-time-zone';
const watchers = new Set<() => void>();

/** The time zone that was chosen in this browser. */
export function chosenTimeZone(): TimeZone {
  return localStorage.getItem(key) === 'utc' ? 'utc' : 'local';
}

export function chooseTimeZone(zone: TimeZone): void {
  if (zone === 'utc') localStorage.setItem(key, zone);
  else localStorage.removeItem(key);
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The chosen time zone; components that show times update when it changes. */
export const useTimeZone = (): TimeZone => useSyncExternalStore(watch, chosenTimeZone);

/** "29 Nov 2026, 12:43:05 UTC": a time in a zone, to the second. */
export function exactTime(at: Date, zone: TimeZone): string {
  return at.toLocaleString('en-GB', {
    ...(zone === 'utc' ? { timeZone: 'UTC' } : {}),
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
}

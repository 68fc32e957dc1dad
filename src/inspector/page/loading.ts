import type { VNode } from 'preact';
import type { AdminFailure } from './admin-client.ts';
import { el } from './element.ts';

/** Placeholder for a view that is loading, or could not be loaded. */
export function Loading({
  failure,
  what,
}: {
  readonly failure: AdminFailure | undefined;
  readonly what: string;
}): VNode {
  return el(
    'p',
    { class: 'empty view' },
    failure === undefined ? `Loading ${what}…` : `Could not load ${what}: ${failure.message}`,
  );
}

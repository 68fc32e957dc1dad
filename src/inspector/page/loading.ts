import type { VNode } from 'preact';
import type { AdminFailure } from './admin-client.ts';
import { el } from './element.ts';

/** What stands where a view is not there yet, or cannot be had. */
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

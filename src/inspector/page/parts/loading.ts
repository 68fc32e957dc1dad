import type { VNode } from 'preact';
import type { AdminFailure } from '../admin-client.ts';
import { el } from './element.ts';

/** Placeholder for a view that is loading, or could not be loaded. */
export function Loading({
  failure,
  subject,
}: {
  readonly failure: AdminFailure | undefined;
  readonly subject: string;
}): VNode {
  return el(
    'p',
    { class: 'empty view' },
    failure === undefined ? `Loading ${subject}…` : `Could not load ${subject}: ${failure.message}`,
  );
}

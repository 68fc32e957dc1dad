import type { NumberedEntry, State } from '../api.ts';
import type { AdminFailure } from './admin-client.ts';

/** State of the live list. */
export interface LiveView {
  /** Newest first. */
  readonly rows: readonly NumberedEntry[];
  /** One in this many incoming entries is drawn. */
  readonly stride: number;
  /** True while the list is paused. */
  readonly paused: boolean;
  /** Entries that arrived since the pause. */
  readonly waiting: number;
  readonly connection: 'connecting' | 'live' | 'lost';
  readonly state: State | undefined;
  readonly failure: AdminFailure | undefined;
  /** True while the gateway still holds entries older than the last row. */
  readonly hasOlder: boolean;
}

/** State of the list before the first response. */
export const NOTHING_YET: LiveView = {
  rows: [],
  stride: 1,
  paused: false,
  waiting: 0,
  connection: 'connecting',
  state: undefined,
  failure: undefined,
  hasOlder: false,
};

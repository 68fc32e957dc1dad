import type { NumberedEntry, State } from '../../api.ts';
import type { AdminFailure } from '../admin-client.ts';

/** State of the live list. */
export interface LiveView {
  /** Newest first. */
  readonly rows: readonly NumberedEntry[];
  /** One in this many incoming failures, and in this many others, is drawn. */
  readonly strides: { readonly failures: number; readonly others: number };
  /** Rows before this `seq` are failures only: the gateway keeps them for longer. */
  readonly oldest: number;
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
  strides: { failures: 1, others: 1 },
  oldest: 0,
  paused: false,
  waiting: 0,
  connection: 'connecting',
  state: undefined,
  failure: undefined,
  hasOlder: false,
};

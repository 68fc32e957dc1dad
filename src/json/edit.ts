/** An edit against the original bytes: the bytes from `start` up to `end` give way to `insert`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly insert: Uint8Array;
}

/** Whether V2's schema accepts the body that a migration would have sent; nothing was sent to V2 for it. */
export interface BodyCheck {
  readonly v2: 'valid' | 'invalid' | 'unknown';
  /** RFC 6901 pointer into the body for V2, of the first fault; `invalid` only. */
  readonly at?: string;
  /** Reason for `unknown`, such as `no-schema`, `too-slow` or `budget`. */
  readonly why?: string;
}

/** A response for an operator: a text, or a value to print as JSON. */
export interface OperatorResult {
  readonly status: 200 | 400 | 422 | 503;
  readonly value: object | string;
}

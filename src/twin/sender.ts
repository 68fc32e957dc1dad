/** A request as a sender puts it on the wire. */
export interface TwinRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** A response, with its content coding removed; field names as they came. */
export interface TwinResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** No response came; `fault` says why. */
export interface NoResponse {
  readonly fault: string;
}

/** Sends one request to one service. */
export type Sender = (request: TwinRequest) => Promise<TwinResponse | NoResponse>;

/** One of the two services that a script is played to. */
export interface Side {
  /** Such as `https://api.example`, without a slash at the end. */
  readonly origin: string;
  readonly send: Sender;
}

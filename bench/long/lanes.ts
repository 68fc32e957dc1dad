/** A place for one request at a time: a connection of HTTP/1.1, or one of the streams that a connection of HTTP/2 has open. */
export interface Lane {
  /** Sends the request; `onResponse` is called once its response has arrived whole. */
  send(onResponse: () => void): void;
}

/** Open connections that all send the same request. */
export interface Lanes {
  readonly lanes: readonly Lane[];
  /** Rejects when a response is another than the first one, or a connection breaks. */
  readonly failed: Promise<never>;
  close(): void;
}

/** Sends requests as fast as responses arrive; returns the milliseconds that each took. */
export function saturateLanes({ lanes, failed }: Lanes, milliseconds: number): Promise<readonly number[]> {
  const took: number[] = [];
  const end = performance.now() + milliseconds;
  const all = lanes.map(
    (lane) =>
      new Promise<void>((resolve) => {
        let began = performance.now();
        const onResponse = (): void => {
          const now = performance.now();
          took.push(now - began);
          if (now >= end) {
            resolve();
            return;
          }
          began = now;
          lane.send(onResponse);
        };
        lane.send(onResponse);
      }),
  );
  return Promise.race([Promise.all(all).then(() => took), failed]);
}

/**
 * Sends `rate` requests a second, whether responses arrive or not; returns the milliseconds that each took. A request that finds no
 * lane free waits for one, and its wait counts.
 */
export function paceLanes(
  { lanes, failed }: Lanes,
  rate: number,
  milliseconds: number,
): Promise<readonly number[]> {
  const took: number[] = [];
  const free = [...lanes];
  const waiting: number[] = [];
  const start = performance.now();
  let sent = 0;
  let underWay = 0;
  const done = new Promise<readonly number[]>((resolve) => {
    const launch = (lane: Lane, began: number): void => {
      lane.send(() => {
        took.push(performance.now() - began);
        const next = waiting.shift();
        if (next !== undefined) {
          launch(lane, next);
          return;
        }
        free.push(lane);
        underWay -= 1;
      });
    };
    const timer = setInterval(() => {
      const now = performance.now();
      if (now - start >= milliseconds) {
        if (underWay > 0) return;
        clearInterval(timer);
        resolve(took);
        return;
      }
      for (; sent < ((now - start) * rate) / 1000; sent += 1) {
        const lane = free.pop();
        if (lane === undefined) {
          waiting.push(now);
          continue;
        }
        underWay += 1;
        launch(lane, now);
      }
    }, 1);
    failed.catch(() => clearInterval(timer));
  });
  return Promise.race([done, failed]);
}

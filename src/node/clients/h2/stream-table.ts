/** The open streams of a connection by their numbers: a hundred at most, so that looking through them takes less than a table would. */
export class StreamTable<Stream> implements Iterable<Stream> {
  private readonly ids: number[] = [];
  private readonly streams: Stream[] = [];

  /** Number of open streams. */
  get size(): number {
    return this.ids.length;
  }

  /** The open stream with a number. */
  get(id: number): Stream | undefined {
    // The latest one is asked for most.
    const at = this.ids.lastIndexOf(id);
    return at < 0 ? undefined : this.streams[at];
  }

  add(id: number, stream: Stream): void {
    this.ids.push(id);
    this.streams.push(stream);
  }

  remove(id: number): void {
    const at = this.ids.lastIndexOf(id);
    if (at < 0) return;
    this.ids.splice(at, 1);
    this.streams.splice(at, 1);
  }

  [Symbol.iterator](): Iterator<Stream> {
    return this.streams.values();
  }
}

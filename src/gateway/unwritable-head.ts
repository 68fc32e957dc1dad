/** Thrown by `Exchange.head` before anything is sent: the client's protocol cannot express this head. */
export class UnwritableHead extends Error {
  constructor(status: number) {
    super(`The head of the response ${status} cannot be written.`);
    this.name = 'UnwritableHead';
  }
}

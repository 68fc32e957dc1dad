/** Thrown by `Exchange.head`, with nothing sent: no message that the client understands can begin with this head. */
export class UnwritableHead extends Error {
  constructor(status: number) {
    super(`The head of the response ${status} cannot be written.`);
    this.name = 'UnwritableHead';
  }
}

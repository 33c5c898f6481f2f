// Adapter for `node:http`: createServer(createNodeReceiver({ … })).

import { openReceiver, type Receiver, type ReceiverSource } from "../receiver.ts";

export function createNodeReceiver(source: ReceiverSource): Receiver["node"] {
	return openReceiver(source).node;
}

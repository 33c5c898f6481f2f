// For `node:http`: createServer(createNodeReceiver({ … })).

import { createReceiver, type Receiver } from "../receiver.ts";
import type { ReceiverOptions } from "../receiver-options.ts";

export function createNodeReceiver(options: ReceiverOptions): Receiver["node"] {
	return createReceiver(options).node;
}
